if a:
	*		c
	d
