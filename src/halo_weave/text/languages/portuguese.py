"""Portuguese."""

from halo_weave.text.languages.language import DateWords, Language, WishWords

PORTUGUESE = Language(
    code="pt",
    stemmer="portuguese",
    function_words=(
        "que de um uma para com nao os as dos das em na nos nas por mais meu minha meus minhas eu se foi voce muito "
        "como mas tenho tem ele ela isso este esta quando porque quero sempre nunca tambem ate desde aqui agora seu "
        "sua nosso nossa da ao pelo pela sou estou chama mora"
    ),
    dates=DateWords(
        months=("janeiro, fevereiro, marco, abril, maio, junho, julho, agosto, setembro, outubro, novembro, dezembro"),
        before_month="em|de|desde|ate|no inicio de|em meados de|no final de",
        of="de|do",
        ordinal="o?",
        days_back={"anteontem": 2, "ontem": 1},
        numbers=("uma?", "dois|duas", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez"),
        units={"day": "dia|dias", "week": "semana|semanas", "month": "mes|meses", "year": "ano|anos"},
        ago=("(?:ha|faz) {count} {unit}", "{count} {unit} atras"),
        last={"week": "semana passada", "month": "mes passado", "year": "ano passado"},
    ),
    wishes=WishWords(
        begins=(
            r"(?:sempre|nunca|jamais) (?:responda|responde|escreva|escreve|use|usa|utilize|me|fale|fala|diga|explique|"
            r"mostre|mencione|cite|inclua)\b",
            r"(?:responda|responde|escreva|escreve|use|usa|fale|fala|diga|explique)\b[^.!?\n]{0,40} (?:sempre|nunca)\b",
            r"(?:me chame|me chama|chame-me|chama-me)\b",
            r"(?:lembre-se|lembra-te|lembre|nao esqueca|nao te esquecas|tenha em mente)(?: de)? que "
            r"(?:eu|meu|minha|meus|minhas|sou|tenho|estou|moro|nosso|nossa)\b",
            r"(?:quando|sempre que|toda vez que|se) eu (?:te |lhe )?"
            r"(?:perguntar|pedir|escrever|mencionar|disser|falar)\b",
        ),
        contains=(
            r"\b(?:a partir de agora|de agora em diante|daqui em diante|daqui para a frente)\b",
            r"\b(?:eu )?(?:prefiro|quero que voce|gostaria que voce)\b",
        ),
    ),
)
