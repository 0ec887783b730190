"""Which requests and endpoints behave unlike before (DESIGN section 9): from vectors to alerts."""
