"""The records that a client and the broker exchange, and the rules that a submission must meet before it is sent."""
