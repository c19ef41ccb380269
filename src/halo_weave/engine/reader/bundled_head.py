"""The looking head of the bundled model, SmolLM2-135M-Instruct.

It found most evidence, by itself, in chats of both data sets. `halo-weave bench heads` finds it without them,
and prints the mean and the deviation of its keys.
"""

from halo_weave.engine.reader.looking_head import LookingHead

# fmt: off
_KEY_MEAN = (
    -1.29, -0.71, -1.12, 0.3, 0.13, 1.38, -0.8, -1.41, -1.28, 1.23, -0.87, 1.75, 1.91, 0.65, -0.52, -2.61, -0.48,
    -3.44, -0.36, 2.67, 0.04, -3.21, 3.8, 0.44, -3.86, 0.12, 0.17, -3.42, 0.62, -3.18, -2.59, -0.52, 0.0, 0.36,
    -0.62, 3.35, 0.05, 0.52, -0.04, 0.3, 0.07, -0.09, 0.28, 0.06, -0.5, 5.42, -1.86, 0.65, 0.31, -4.15, 0.87,
    -6.51, 0.98, -1.24, 4.78, -2.31, 2.91, -2.18, -0.3, 1.09, -0.5, 0.37, 0.29, 0.78,
)
# fmt: on
BUNDLED_HEAD = LookingHead(layer=9, head=2, key_head=0, key_mean=_KEY_MEAN, key_deviation=0.87)
