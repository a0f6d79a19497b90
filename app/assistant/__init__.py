"""One model ready to answer: messages to tokens, and what is kept of it on disk; no thread, no screen."""
