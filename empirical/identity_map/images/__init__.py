"""Images to train on and to test with: digits, mixtures, patterns, any size or colour.

Every picture carries where it comes from, for the record.
"""

from empirical.identity_map.images.own import own as own
from empirical.identity_map.images.pictures import Pictures as Pictures
from empirical.identity_map.images.pictures import checked as checked
from empirical.identity_map.images.pictures import joined as joined
from empirical.identity_map.images.pictures import level as level
from empirical.identity_map.images.pictures import place as place
from empirical.identity_map.images.pictures import resize as resize
from empirical.identity_map.images.pictures import standardised as standardised
from empirical.identity_map.images.sources import channelled as channelled
from empirical.identity_map.images.sources import chosen as chosen
from empirical.identity_map.images.sources import mixture as mixture
from empirical.identity_map.images.sources import patterns as patterns
from empirical.identity_map.images.sources import unseen as unseen
