"""Prompts of different kinds, short ones: the time of reading them is not measured, but it passes.

Some ask for words of the prompt to come back, which is what a lookup draft feeds on.
"""

PROMPTS = (
    "Write a Python function that returns the factorial of n, with a docstring.",
    "Explain in simple words why the sky is blue.",
    "Repeat this sentence three times: The quick brown fox jumps over the lazy dog.",
    "Write a short story about a lighthouse keeper and a storm.",
    "List the planets of the solar system with one fact about each.",
    "Fix the spelling and return the text: Their are many resons to lern a langage, and many wayes to do it.",
    "Turn this into JSON: name Ada Lovelace, born 1815, field mathematics.",
    "Give me advice on how to sleep better.",
)
