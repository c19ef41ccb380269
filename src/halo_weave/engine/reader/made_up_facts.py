"""Made-up facts that people mention in passing: names, numbers, places and preferences.

Each is asked about in other words than it is told in. `{value}` is the fact itself; `{who}`, `{whom}` and `{whose}`
stand for the person. Questions avoid verbs that change between "I" and "she". The reply is about the same subject but
has no answer.
"""

from typing import NamedTuple


class MadeUpFact(NamedTuple):
    told: str
    values: tuple[str, str]
    reply: str
    asked: str


NAMES = (
    MadeUpFact(
        "We brought the puppy home yesterday. The children call her {value}.",
        ("Bramble", "Pepper"),
        "A young animal keeps everybody busy. Is she sleeping through the night?",
        "What is the name of {whose} dog?",
    ),
    MadeUpFact(
        "It turns out that the new boss is somebody I went to school with, {value}.",
        ("Odile Renner", "Tobias Falk"),
        "That could make the office easier, or stranger.",
        "Who is now {whose} manager at work?",
    ),
    MadeUpFact(
        "My sister had her baby last night, a little boy. They decided on {value}.",
        ("Anselm", "Rufus"),
        "Congratulations to all of you! Are mother and child well?",
        "What did the parents of {whose} nephew name him?",
    ),
    MadeUpFact(
        "Water was everywhere until {value} came and fixed the leak.",
        ("Mr Okafor", "Mrs Lindqvist"),
        "Good tradespeople are hard to find. Is the ceiling dry again?",
        "Which plumber helped {whom}?",
    ),
    MadeUpFact(
        "I painted the old boat blue and wrote a new name on it: {value}.",
        ("Second Wind", "Silver Gull"),
        "Blue suits her. When will you take her out on the water?",
        "What should we call {whose} ship from now on?",
    ),
    MadeUpFact(
        "My violin teacher, {value}, says that I hold the bow too tightly.",
        ("Madame Perrin", "Herr Sokol"),
        "Relax the thumb, that always helped me.",
        "From whom did {who} get music lessons?",
    ),
    MadeUpFact(
        "I could not put the novel down until three in the morning. It is called {value}.",
        ("The Salt Orchard", "Winter at Number Nine"),
        "I love it when that happens. Was the ending good?",
        "Which book kept {whom} awake?",
    ),
    MadeUpFact(
        "Our band finally agreed on what to print on the posters: {value}.",
        ("The Paper Lions", "Copper Tuesday"),
        "Sounds like you will be famous. When is the first concert?",
        "Under what name will {whose} music group perform?",
    ),
    MadeUpFact(
        "My roommate {value} moved out on Friday and left half a bookshelf behind.",
        ("Yusuf", "Marit"),
        "Will you look for somebody new, or keep the flat to yourself?",
        "With whom did {who} share an apartment?",
    ),
    MadeUpFact(
        "We asked {value} to look after the twins on weekdays.",
        ("Mrs Abernathy", "Paloma"),
        "That must be a relief. Two at that age are a handful.",
        "Who will be the nanny of {whose} children?",
    ),
)
NUMBERS = (
    MadeUpFact(
        "I crossed the finish line after {value}, nobody believed it.",
        ("three hours and twelve minutes", "four hours and five minutes"),
        "All that training paid off. Are your knees all right?",
        "How long was the marathon for {whom}?",
    ),
    MadeUpFact(
        "The dentist wants {value} for the crown.",
        ("640 euros", "910 euros"),
        "Ouch. Does the insurance cover any of it?",
        "How expensive will {whose} tooth be?",
    ),
    MadeUpFact(
        "They changed the lock, and the new code for the garage is {value}.",
        ("7714", "2093"),
        "Write it down somewhere safe.",
        "Which digits can open the door for {whose} car?",
    ),
    MadeUpFact(
        "My grandmother turns {value} on Saturday, and the whole family is coming.",
        ("ninety-one", "eighty-six"),
        "What a wonderful occasion. Who bakes the cake?",
        "How old will {whose} grandma be?",
    ),
    MadeUpFact(
        "The new office is on the {value} floor, and the lift is slow.",
        ("eleventh", "seventeenth"),
        "At least the view must be good.",
        "How high up in the building can we find {whose} desk?",
    ),
    MadeUpFact(
        "My flight leaves at {value}, so I will not sleep much.",
        ("ten to five", "half past six"),
        "Set two alarms, and have a good journey.",
        "At what time will {whose} plane take off?",
    ),
    MadeUpFact(
        "I have collected stamps since I was a child and own {value} of them.",
        ("four thousand", "twelve hundred"),
        "Do you keep them in albums?",
        "How many pieces should be in {whose} collection?",
    ),
    MadeUpFact(
        "We planted {value} apple trees behind the barn.",
        ("thirty-five", "fifty-two"),
        "In a few years you will be pressing your own juice.",
        "How large will {whose} orchard be?",
    ),
    MadeUpFact(
        "One way by train cost me {value}.",
        ("eighty-four francs", "sixty-one francs"),
        "Next time book earlier, it helps a lot.",
        "How much did {who} pay for the rail ticket?",
    ),
    MadeUpFact(
        "After a year of swimming I am down to {value}.",
        ("seventy-eight kilos", "ninety-three kilos"),
        "You look so much fitter. Keep it up!",
        "What did the scales show as {whose} weight?",
    ),
)
PLACES = (
    MadeUpFact(
        "This time we are spending the holidays in {value}, in a hut by the lake.",
        ("Ticino", "Lapland"),
        "A hut sounds perfect. Take warm socks.",
        "To which region will {whose} vacation lead?",
    ),
    MadeUpFact(
        "My brother moved to {value} for the new job.",
        ("Porto", "Tampere"),
        "That is far. Will you visit him?",
        "In which city can {whose} sibling be found?",
    ),
    MadeUpFact(
        "I left the spare key {value}.",
        ("under the blue flowerpot", "behind the gas meter"),
        "Hopefully nobody else has seen that.",
        "How can somebody get into {whose} house without ringing?",
    ),
    MadeUpFact(
        "My wife and I met in the queue of a bakery in {value}.",
        ("Ghent", "Ljubljana"),
        "What a lovely story. Who spoke first?",
        "Where did {whose} marriage begin, in a way?",
    ),
    MadeUpFact(
        "I was born in {value}, but I remember nothing of it.",
        ("Tromsø", "Valletta"),
        "Have you ever gone back to see it?",
        "What will {whose} passport give as place of birth?",
    ),
    MadeUpFact(
        "I keep my will and the contracts {value}.",
        ("in a biscuit tin in the cellar", "in the bottom drawer of the piano bench"),
        "Tell your family, or nobody will ever find them.",
        "Where would lawyers have to look for {whose} papers?",
    ),
    MadeUpFact(
        "The wedding will be at {value}, rain or shine.",
        ("the old mill", "the botanical garden"),
        "I cannot wait. What should I wear?",
        "Where must guests go to see {whom} get married?",
    ),
    MadeUpFact(
        "The street was full, so the van is {value}.",
        ("behind the library", "next to the fish market"),
        "Parking there has become impossible.",
        "Where did {who} leave the vehicle?",
    ),
    MadeUpFact(
        "I studied in {value}, four rainy years.",
        ("Aberdeen", "Bergen"),
        "Rain is good for reading, they say.",
        "Where did {who} go to university?",
    ),
    MadeUpFact(
        "Grandpa still grows wheat near {value}, where the road ends.",
        ("Ravenbrook", "Steinfeld"),
        "Does he still drive the tractor himself?",
        "What village must one pass to reach {whose} family farm?",
    ),
)
PREFERENCES = (
    MadeUpFact(
        "I cannot stand {value}, to me it tastes like soap.",
        ("coriander", "fennel"),
        "Many people feel that way. It may even be in the genes.",
        "Which ingredient must a cook leave out for {whom}?",
    ),
    MadeUpFact(
        "With my allergy I have to avoid {value}, so I always ask the waiter.",
        ("shellfish", "walnuts"),
        "Better to ask once too often. Do you carry an injection?",
        "What should never be on {whose} plate?",
    ),
    MadeUpFact(
        "For walls I always choose {value}, it calms me down.",
        ("sage green", "pale apricot"),
        "Did you do the painting yourself?",
        "In which colour should {whose} bedroom be decorated?",
    ),
    MadeUpFact(
        "If I have to wait, I put on {value}.",
        ("old jazz records", "podcasts about astronomy"),
        "That makes the time fly.",
        "What can one play to entertain {whom}?",
    ),
    MadeUpFact(
        "In the morning it has to be {value}, I never touch coffee.",
        ("green tea", "hot chocolate"),
        "I could not start the day like that.",
        "Which beverage would {who} like at breakfast?",
    ),
    MadeUpFact(
        "I would rather take {value} than fly, even if it takes all day.",
        ("the night train", "the ferry"),
        "Slow travel has its charms.",
        "By which means of transport would {who} like to go abroad?",
    ),
    MadeUpFact(
        "Long emails make me tired. Send me {value} instead.",
        ("voice messages", "three bullet points"),
        "I will keep that in mind.",
        "How should somebody contact {whom}?",
    ),
    MadeUpFact(
        "On Sundays you will find me in the shed, {value}.",
        ("carving spoons", "repairing clocks"),
        "It is good to do something with your hands.",
        "What could {whose} hobby be?",
    ),
    MadeUpFact(
        "I gave up {value} two years ago and feel much better for it.",
        ("meat", "sugar"),
        "Was it difficult at the beginning?",
        "What did {who} stop consuming?",
    ),
    MadeUpFact(
        "If anybody asks what I want for my birthday: {value}.",
        ("a telescope", "a fountain pen"),
        "I will pass it on to the others.",
        "Which present would make {whom} happy?",
    ),
)
SMALL_TALK = (
    "How was your weekend?",
    "The weather has been grey all week.",
    "I slept badly and need a second cup of something warm.",
    "Sorry for the late answer, my phone was in the other room.",
    "The neighbours are having a party again.",
    "I am trying to spend less time looking at screens.",
    "Did you see the sunset yesterday? It was unreal.",
    "The meeting went on for ever, as usual.",
    "I have to go shopping before everything closes.",
    "It is so good to hear from you.",
    "Time flies, it is almost the end of the month.",
    "My back hurts from sitting all day.",
    "We should really do this more often.",
    "I finally cleaned the kitchen, and it only took an hour.",
    "The bus was late, so I walked in the rain.",
    "That reminds me of something that you said last year.",
    "Everything is a bit much at the moment, but it will pass.",
    "I laughed so hard that people turned around.",
    "There is a new café around the corner, we could try it.",
    "The heating is making strange noises.",
    "I have been thinking about what you told me.",
    "Anyway, that is all from my side.",
    "The garden looks wild after the storm.",
    "My evening plans fell through, so I watched an old film.",
    "You would not believe how long the queue was.",
    "I keep forgetting to water the plants.",
    "Let me know when you have a minute to talk.",
    "The traffic downtown was terrible this morning.",
    "It is nice when the house is quiet for once.",
    "I should learn to say no more often.",
    "They are digging up our street again.",
    "What a strange day that was.",
)
PEOPLE = ("Mara", "Edvin", "Noor")
