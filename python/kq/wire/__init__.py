"""The wire protocol: the messages, their bytes and the packing of files."""
