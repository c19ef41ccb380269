"""English, which the word index stems itself."""

from halo_weave.text.languages.language import DateWords, Language

ENGLISH = Language(
    code="en",
    function_words=(
        "the of and to a in is you that it he was for on are as with his they i at be this have from or one had by not "
        "but what all were we when your can said there an each which she do how their if will up about out them then "
        "these so her would him has more go no way could my than been who its now did get me our am just don't i'm "
        "it's that's some any too very really also after new here"
    ),
    # Not "today", which people use for what is new. Months are in `dates`, because of their capitals.
    dates=DateWords(
        days_back={"day before yesterday": 2, "yesterday": 1},
        numbers=("one|an|a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
        units={"day": "days|day", "week": "weeks|week", "month": "months|month", "year": "years|year"},
        ago=("{count} {unit} ago",),
        last={"week": "(?:last|past) week", "month": "(?:last|past) month", "year": "(?:last|past) year"},
    ),
)
