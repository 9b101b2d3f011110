"""Train networks to copy one image, and see which function the training chooses.

The test-bed of Zhang, Bengio, Hardt, Mozer, Singer 2020, "Identity Crisis":
networks from images to images, initialised, trained and measured many at once.
"""
