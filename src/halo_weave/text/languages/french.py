"""French."""

from halo_weave.text.languages.language import DateWords, Language, WishWords

FRENCH = Language(
    code="fr",
    stemmer="french",
    function_words=(
        "le la les des est et je que qui dans pas une un vous nous ne sur avec mon ma mes ce cette il elle ils elles "
        "sont suis j'ai c'est n'est du au aux tres mais ou de en se sa ses leur tu te ton ta tes lui toujours jamais "
        "ete etait fait plus comme meme quand aussi puis chez s'appelle"
    ),
    dates=DateWords(
        months=("janvier, fevrier, mars, avril, mai, juin, juillet, aout, septembre, octobre, novembre, decembre"),
        before_month="en|depuis|debut|fin|mi|jusqu'en|au mois de",
        ordinal="(?:er)?",
        # Alone, "hier" is also German for "here".
        days_back={
            "avant-hier": 2,
            "hier (?:soir|matin|midi|apres-midi)|(?:dit|parle|fait|vu|d') ?hier|hier,? (?:j'|je|tu|on|nous|vous)": 1,
        },
        numbers=("une?", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix"),
        units={"day": "jour|jours", "week": "semaine|semaines", "month": "mois", "year": "an|ans|annee|annees"},
        ago=("il y a {count} {unit}",),
        last={
            "week": "semaine (?:derniere|passee)",
            "month": "mois (?:dernier|passe)",
            "year": "(?:annee (?:derniere|passee)|an dernier)",
        },
    ),
    wishes=WishWords(
        begins=(
            r"(?:reponds|repondez|ecris|ecrivez|utilise|utilisez|parle|parlez|cite|citez|explique|expliquez|appelle|"
            r"sois|soyez|fais|donne)\b[^.!?\n]{0,40} (?:toujours|jamais)\b",
            r"(?:toujours|ne jamais) \w{2,20}(?:er|ir|re)\b",
            r"(?:n'|ne )\w{2,20} jamais\b",
            r"appelle[sz]?-moi\b",
            r"(?:souviens-toi|rappelle-toi|retiens|n'oublie pas|note)(?: bien)? "
            r"(?:que (?:je|j'|mon|ma|mes|nous|notre)|qu'on)",
            r"(?:quand|chaque fois que|lorsque|si) je (?:te |vous )?(?:demande|dis|parle|mentionne|pose|ecris)\b",
        ),
        contains=(
            r"\b(?:a partir de maintenant|desormais|dorenavant)\b",
            r"\bje (?:prefere|prefererais|veux que (?:tu|vous)|voudrais que (?:tu|vous)|souhaite que (?:tu|vous)|"
            r"aimerais que (?:tu|vous))\b",
        ),
    ),
)
