"""A small shop of real HTTP services that trace themselves, with faults to switch on."""
