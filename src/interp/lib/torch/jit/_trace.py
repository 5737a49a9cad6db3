_trace_module_map = None
