"""What a call of either client does, as generators that need neither a socket nor a clock; both clients drive them."""
