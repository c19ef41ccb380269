"""German."""

from halo_weave.text.languages.language import DateWords, Language, WishWords

_LAST = r"(?:letzte|vorige|vergangene)"
GERMAN = Language(
    code="de",
    stemmer="german",
    function_words=(
        "ich du nicht und der das ist ein eine einen einem einer mit auf fur von zu zum zur den dem des sich wie "
        "mein meine meinen meinem meiner dein deine wir sie er es haben habe hast wird werden sind bist aber oder wenn "
        "nach bei noch nur dass kann kannst mir mich dir dich uns ihr kein keine keinen im vom beim uber schon sehr "
        "immer jetzt heisst gerne wurde dann doch auch wer wo"
    ),
    dates=DateWords(
        months=(
            "januar|janner, februar|feber, marz, april, mai, juni, juli, august, september, oktober, november, dezember"
        ),
        before_month="im|seit|anfang|mitte|ende|bis|vom",
        days_back={"vorgestern": 2, "gestern": 1},
        numbers=("ein|einem|einer|einen", "zwei", "drei", "vier", "funf", "sechs", "sieben", "acht", "neun", "zehn"),
        units={
            "day": "tag|tage|tagen",
            "week": "woche|wochen",
            "month": "monat|monate|monaten",
            "year": "jahr|jahre|jahren",
        },
        ago=("vor {count} {unit}",),
        last={"week": rf"{_LAST}[nr]? woche", "month": rf"{_LAST}[ns]? monat", "year": rf"{_LAST}[ns] jahr"},
    ),
    wishes=WishWords(
        begins=(
            r"(?:antworte|schreibe?|nenne?|benutze?|verwende|nutze?|sprich|sage?|gib|erklare?|zeige?|mache?|halte?)"
            r"\b[^.!?\n]{0,40} (?:immer|nie|niemals|stets)\b",
            r"(?:immer|nie|niemals|stets) (?:bitte )?[^.!?\n]{0,60}(?:en|ern|eln)(?:[.!\n]|$)",
            r"nenne? mich\b",
            r"merke? dir\b",
            r"(?:denke? daran|vergiss nicht|behalte? im kopf),? dass (?:ich|wir|mein|unser)",
            r"(?:immer )?wenn ich (?:[^.!?,\n]{0,40} )?(?:frage|schreibe|sage|erwahne|bitte)\b",
            r"(?:achte|sorge?) (?:bitte )?(?:immer )?(?:darauf|dafur), dass du\b",
        ),
        contains=(
            r"\b(?:ab (?:jetzt|sofort|nun)|von (?:jetzt|nun) an|in zukunft)\b",
            r"\bich (?:bevorzuge|ziehe [^.!?\n]{1,40} vor(?:[.!,\n]|$)|"
            r"(?:mochte|will|wunsche mir|hatte gern),? dass du)\b",
        ),
    ),
)
