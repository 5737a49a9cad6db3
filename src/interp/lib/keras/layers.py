"""keras.layers."""

import _pellucid
from keras._core_layers import *
from keras._core_layers import (Activation, Add, AlphaDropout, Average, Concatenate, Dense, Dot, Dropout, Embedding, Flatten,
                                Lambda, LayerNormalization, Maximum, Minimum, Multiply, Permute, Reshape, Subtract,
                                TimeDistributed, add, average, concatenate, dot, maximum, minimum, multiply, subtract)
from keras._engine import Input, InputLayer, Layer
from keras._spatial_layers import *
from keras._spatial_layers import (AveragePooling1D, AveragePooling2D, AveragePooling3D, Conv1D, Conv1DTranspose, Conv2D,
                                   Conv2DTranspose, Conv3D, Conv3DTranspose, GlobalAveragePooling1D, GlobalAveragePooling2D,
                                   GlobalAveragePooling3D, GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D,
                                   MaxPooling1D, MaxPooling2D, MaxPooling3D)

Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose = Conv2DTranspose
MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = GlobalAveragePooling1D, GlobalAveragePooling2D, GlobalAveragePooling3D


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _pellucid.symbol('keras.layers.' + name)
