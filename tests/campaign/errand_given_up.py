"""A process that asks, in a crowd, gives up after a moment and ends: `python errand_given_up.py STORE`."""

import sys

from outlay.campaign import Campaign
from outlay.campaign.stores.db import errands
from outlay.errors import StoreBusy

if __name__ == "__main__":
    errands.CROWD = 0
    campaign = Campaign.open(sys.argv[1])
    try:
        campaign.ask(timeout=0.2)
    except StoreBusy:
        print("busy")
