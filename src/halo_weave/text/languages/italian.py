"""Italian."""

from halo_weave.text.languages.language import DateWords, Language, WishWords

ITALIAN = Language(
    code="it",
    stemmer="italian",
    function_words=(
        "il la che di un una per con non sono mi ho le del della dei delle gli nel nella anche come piu ma io si "
        "questo questa mio mia miei mie tuo tua lo al alla alle da dal dalla su sul sulla ha hai siamo era molto "
        "quando perche sempre mai qui adesso ora voglio c'e chiama abito"
    ),
    dates=DateWords(
        months=(
            "gennaio, febbraio, marzo, aprile, maggio, giugno, luglio, agosto, settembre, ottobre, novembre, dicembre"
        ),
        before_month="a|in|di|da|dal|fino a|inizio|fine|meta",
        ordinal="o?",
        days_back={"l'altro ieri|ieri l'altro|avantieri": 2, "ieri": 1},
        numbers=("un|uno|una", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci"),
        units={"day": "giorno|giorni", "week": "settimana|settimane", "month": "mese|mesi", "year": "anno|anni"},
        ago=("{count} {unit} fa",),
        last={
            "week": "(?:settimana (?:scorsa|passata)|scorsa settimana)",
            "month": "(?:mese (?:scorso|passato)|scorso mese)",
            "year": "(?:anno (?:scorso|passato)|scorso anno)",
        },
    ),
    wishes=WishWords(
        begins=(
            r"(?:rispondi|rispondimi|scrivi|usa|parla|parlami|cita|spiega|spiegami|dimmi|chiamami)\b[^.!?\n]{0,40} "
            r"(?:sempre|mai)\b",
            r"(?:non \w{2,20} mai|sempre \w{2,20}[aei]re)\b",
            r"chiamami\b",
            r"(?:ricorda|ricordati|tieni presente|non dimenticare) che "
            r"(?:io|mio|mia|miei|mie|sono|ho|il mio|la mia|nostr[oa])\b",
            r"(?:quando|ogni volta che|se) (?:ti )?(?:chiedo|scrivo|dico|parlo|menziono)\b",
        ),
        contains=(
            r"\b(?:d'ora in poi|da ora in poi|d'ora in avanti|da adesso in poi)\b",
            r"\b(?:preferisco|preferirei|voglio che tu|vorrei che tu)\b",
        ),
    ),
)
