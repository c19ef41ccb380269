"""Spanish."""

from halo_weave.text.languages.language import DateWords, Language, WishWords

SPANISH = Language(
    code="es",
    stemmer="spanish",
    function_words=(
        "que de la el los las un una por para con se es en lo mi mis su sus muy pero cuando esta estoy como mas yo "
        "tengo tiene te le les del al ser fue hay donde porque quiero ella nosotros siempre nunca tambien hasta desde "
        "este eso esto aqui ahora llama vive hoy si"
    ),
    dates=DateWords(
        months=(
            "enero, febrero, marzo, abril, mayo, junio, julio, agosto, septiembre|setiembre, octubre, "
            "noviembre, diciembre"
        ),
        before_month="en|de|desde|hasta|este|a principios de|a mediados de|a finales de",
        of="de|del",
        ordinal="o?",
        days_back={"anteayer|antier": 2, "ayer": 1},
        numbers=("un|una|uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez"),
        units={"day": "dia|dias", "week": "semana|semanas", "month": "mes|meses", "year": "ano|anos"},
        ago=("hace {count} {unit}",),
        last={
            "week": "(?:semana pasada|ultima semana)",
            "month": "(?:mes pasado|ultimo mes)",
            "year": "(?:ano pasado|ultimo ano)",
        },
    ),
    wishes=WishWords(
        begins=(
            r"(?:siempre|nunca|jamas) (?:responde|contesta|escribe|usa|utiliza|llamame|habla|hablame|di|dime|menciona|"
            r"explica|muestra|pon|haz|incluye|anade|respondas|contestes|escribas|uses|utilices|me)\b",
            r"(?:responde|respondeme|contesta|contestame|escribe|escribeme|usa|utiliza|habla|hablame|dime|explica|"
            r"explicame)\b[^.!?\n]{0,40} (?:siempre|nunca)\b",
            r"llamame\b",
            r"(?:recuerda|acuerdate de|ten en cuenta|no olvides) que "
            r"(?:yo|mi|mis|me|soy|tengo|estoy|vivo|nuestr[oa]s?)\b",
            r"(?:cuando|siempre que|cada vez que|si) (?:te )?(?:pregunte|pregunto|pida|pido|escriba|escribo|mencione|"
            r"menciono|diga|digo)\b",
            r"asegurate de que?\b",
        ),
        contains=(
            r"\b(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante)\b",
            r"\b(?:yo )?(?:prefiero|quiero que (?:me|siempre|nunca|respondas|contestes|uses|escribas|seas|hables)"
            r"|me gustaria que)\b",
        ),
    ),
)
