annotations = division = absolute_import = print_function = unicode_literals = generator_stop = with_statement = True
