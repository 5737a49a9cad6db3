#!/bin/sh
# What make demo shows. Run by the Makefile, which sets PELLUCID and PYTHONPATH.
set -e
cd "$(dirname "$0")/.."
if [ -f examples/demo/__main__.py ]; then
    exec python examples/demo
fi
source='class Block(nn.Module):
    def forward(self, x): return x + self.mlp( self.norm(x) )   # residual'
printf 'A piece of Python:\n\n%s\n\nits syntax tree (pellucid ast):\n\n' "$source"
printf '%s\n' "$source" | "$PELLUCID" ast -
printf '\nand printed again from the tree (pellucid format):\n\n'
printf '%s\n' "$source" | "$PELLUCID" format -
