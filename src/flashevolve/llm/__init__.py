"""The boundary to language models: messages, the model protocol, and what stands between them."""
