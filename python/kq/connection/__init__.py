"""The connection to a broker: its URL, the ZeroMQ socket, the client's key and the submitter's name."""
