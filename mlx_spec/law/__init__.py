"""From logits to laws to tokens, and the rules that keep the law."""
