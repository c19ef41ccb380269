"""Korean. Particles are written together with the word before them."""

from halo_weave.text.languages.language import DateWords, Language, WishWords

KOREAN = Language(
    code="ko",
    has_spaces=False,
    dates=DateWords(
        days_back={"그저께|그제|엊그제": 2, "어제": 1},
        numbers=(
            "한|일",
            "두|이",
            "세|삼|석",
            "네|사|넉",
            "다섯|오",
            "여섯|육",
            "일곱|칠",
            "여덟|팔",
            "아홉|구",
            "열|십",
        ),
        units={"day": "일|날", "week": "주일?", "month": "달|개월", "year": "년|해"},
        ago=("{count} ?{unit} ?전",),
        last={"week": "지난 ?주|저번 ?주", "month": "지난 ?달|저번 ?달", "year": "작년|지난 ?해"},
    ),
    wishes=WishWords(
        begins=(
            r"(?:항상|언제나|늘|매번|반드시)[^.!?\n]{1,60}"
            r"(?:줘|주세요|주십시오|해|하세요|해라|써|쓰세요|말아|마세요)(?:요)?(?:[ .!\n]|$)",
            r"(?:나를|저를|날|절)[^.!?\n]{1,30}(?:라고|이라고) ?(?:불러|부르)",
            r"(?:내가|제가|나는|저는|내|제|우리)[^.!?\n]{1,60}(?:기억해|잊지 ?마)",
            r"(?:내가|제가) [^.!?\n]{0,40}(?:물어보면|물으면|물어볼 때|말하면|말할 때|쓰면|부탁하면)",
        ),
        contains=(
            "지금부터|이제부터|앞으로(?:는|도)? ",
            r"(?:절대|절대로) [^.!?\n]{1,40}(?:마|말아|마세요|말아요|마십시오)",
            r"(?:더 좋아해|더 좋아합니다|선호해|선호합니다)",
        ),
    ),
)
