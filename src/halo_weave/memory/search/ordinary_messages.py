"""Examples of messages that need no memory, and how much a message is like one of them.

"Hello, how are you?" finds the greetings of a year, and finds them very close. What tells it from a question about
that year is that it is as close to any other greeting. The examples are English, like the bundled embedder; an
embedder of several languages compares them with messages in all of its languages.
"""

import threading

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.vectors.unit import Vectors

ORDINARY_FROM = 0.6
"""Text this much like an example is itself ordinary: on both data sets, no evidence for any question is."""

ORDINARY_MESSAGES = (
    # Greetings and farewells.
    "Hi there!",
    "Hello! How is it going?",
    "Good morning!",
    "Hey, nice to talk to you again.",
    "How have you been lately?",
    "Hi, I just wanted to chat for a while.",
    "Goodbye!",
    "Have a good day, talk to you soon.",
    "I have to go now, see you next time.",
    "That is everything for now, have a nice evening.",
    # Thanks and acknowledgements.
    "Thanks a lot!",
    "Thank you, that helps me a great deal.",
    "That was just what I needed, I appreciate it.",
    "Great, thanks for the explanation.",
    "Okay.",
    "Sounds good.",
    "Got it, makes sense.",
    "Alright, I will try it and let you know.",
    "Yes, please.",
    "No, not like that.",
    "Sorry, I meant something else.",
    "Haha, that is funny.",
    # Follow-ups to the last reply.
    "Can you make it shorter?",
    "Please rewrite that in a friendlier tone.",
    "Go on.",
    "Explain that again in simpler words.",
    "Give me another example.",
    "Say that in French.",
    "Are you sure about that?",
    "What do you mean by that?",
    "Format your answer as a list.",
    "Who are you and what can you do?",
    # Arithmetic and general knowledge.
    "What is 17 times 23?",
    "Convert 10 miles to kilometres.",
    "Solve the equation 3x + 4 = 19.",
    "What percentage of 80 is 12?",
    "What is the capital of Australia?",
    "How does photosynthesis work?",
    "Who wrote Romeo and Juliet?",
    "What is the boiling point of water?",
    "What is the difference between weather and climate?",
    "When did the Second World War end?",
    # Code.
    "Write a Python function that sorts a list.",
    "How do I reverse a string in JavaScript?",
    "Fix the bug in this code.",
    "What does this error message mean?",
    "Write a SQL query that counts the rows of a table.",
    "Explain what this shell command does.",
    # Writing and other tasks.
    "Write a poem about the sea.",
    "Tell me a joke.",
    "Invent a short story about a dragon.",
    "Think of a name for a bakery.",
    "Summarise the following text.",
    "Translate this sentence into Spanish.",
    "Correct the grammar of this paragraph.",
    "List five synonyms of happy.",
    "Turn this list into a table.",
    "Write a polite email declining an invitation.",
    "Give me three tips for sleeping better.",
    "Does this text sound formal?",
)


class OrdinaryMessages:
    """The examples as one embedder sees them, embedded on first use. Thread-safe if the embedder is."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._examples: Vectors | None = None

    def likeness(self, texts: Vectors) -> NDArray[np.float32]:
        """Return the similarity of each text to the closest example. Raises EmbedderError."""
        return np.asarray((texts @ self.embedded().T).max(axis=1), dtype=np.float32)

    def embedded(self) -> Vectors:
        with self._lock:
            if self._examples is None:
                self._examples = self._embedder.embed(ORDINARY_MESSAGES)
            return self._examples
