"""The languages that are known; text in others is found by words and meaning as well, but not stemmed."""

from halo_weave.text.languages.arabic import ARABIC
from halo_weave.text.languages.chinese import CHINESE
from halo_weave.text.languages.english import ENGLISH
from halo_weave.text.languages.french import FRENCH
from halo_weave.text.languages.german import GERMAN
from halo_weave.text.languages.hindi import HINDI
from halo_weave.text.languages.italian import ITALIAN
from halo_weave.text.languages.japanese import JAPANESE
from halo_weave.text.languages.korean import KOREAN
from halo_weave.text.languages.language import Language
from halo_weave.text.languages.portuguese import PORTUGUESE
from halo_weave.text.languages.russian import RUSSIAN
from halo_weave.text.languages.spanish import SPANISH
from halo_weave.text.languages.thai import THAI

LANGUAGES: tuple[Language, ...] = (
    ENGLISH,
    GERMAN,
    SPANISH,
    FRENCH,
    PORTUGUESE,
    ITALIAN,
    RUSSIAN,
    ARABIC,
    HINDI,
    CHINESE,
    JAPANESE,
    KOREAN,
    THAI,
)
"""Where a text could be in several, the first one counts."""
