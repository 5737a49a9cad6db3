"""What the scan knows a layer by: it has _layers_in_order and _weights_in_order."""


class Layer:
    pass
