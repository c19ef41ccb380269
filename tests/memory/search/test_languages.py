"""Search in many languages with the bundled embedder: the question has other forms of the words that were said."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest

from halo_weave.memory.embedders.embedder import EmbedderSettings, open_embedder
from halo_weave.memory.search.search import MemorySearch
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.index import VectorIndex
from support.made_up_chunks import written_texts

SAID = (
    "Ich habe meinen Hausschlüssel bei meiner Nachbarin Greta gelassen.",
    "Meine Katzen mögen keinen Fisch und schlafen den ganzen Tag.",
    "Mi abuela vive en una casa amarilla cerca del puerto de Cádiz.",
    "Ayer compré dos billetes de tren para ir a Sevilla con mi primo.",
    "Моя бабушка живёт в маленькой деревне под Тулой.",
    "Вчера я купил два билета в театр на субботу.",
    "جدتي تسكن في بيت أصفر قرب الميناء القديم.",
    "اشتريت تذكرتين للقطار إلى الإسكندرية.",
    "मेरी दादी एक छोटे गाँव में रहती हैं।",
    "मैंने कल रेलगाड़ी की दो टिकटें खरीदीं।",
    "我奶奶住在港口旁边的一座黄色房子里。",
    "我昨天买了两张去成都的火车票。",
    "祖母は港の近くの黄色い家に住んでいます。",
    "昨日、京都行きの切符を二枚買いました。",
    "할머니는 항구 근처의 노란 집에 사세요.",
    "어제 부산으로 가는 기차표 두 장을 샀어요.",
    "ย่าของฉันอยู่บ้านสีเหลืองใกล้ท่าเรือ",
    "เมื่อวานฉันซื้อตั๋วรถไฟไปเชียงใหม่สองใบ",
    "My grandmother lives in a yellow house by the harbour.",
    "We bought two tickets for the train to York.",
)


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySearch]:
    embedder = open_embedder(EmbedderSettings())
    with closing(embedder), closing(SqliteStore(tmp_path_factory.mktemp("memory") / "halo.db")) as store:
        ids = written_texts(store, *SAID)
        store.put_vectors(embedder.name, dict(zip(ids, embedder.embed(SAID), strict=True)))
        with closing(VectorIndex(store, embedder.name, embedder.dimensions)) as index:
            yield MemorySearch(store, embedder, index, clock=lambda: datetime(2026, 11, 18, tzinfo=UTC))


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Wer hat die Hausschlüssel?", 0),
        ("Was frisst die Katze nicht? Fische?", 1),
        ("¿Dónde está la casa de mi abuela?", 2),
        ("¿Cuántos billetes de trenes tengo?", 3),
        ("Где живут бабушки?", 4),
        ("Сколько билетов в театры?", 5),
        ("أين تسكن الجدة، في أي بيت؟", 6),
        ("كم تذكرة قطار اشتريت؟", 7),
        ("दादी किस गाँव में रहती है?", 8),
        ("रेलगाड़ी के टिकट कितने हैं?", 9),
        ("奶奶的房子在哪里?", 10),
        ("火车票是去哪里的?", 11),
        ("祖母の家はどこ?", 12),
        ("切符は何枚?", 13),
        ("할머니 집은 어디예요?", 14),
        ("기차표는 어디로 가요?", 15),
        ("บ้านของย่าอยู่ที่ไหน", 16),
        ("ตั๋วรถไฟไปไหน", 17),
        ("Where's grandma's home?", 18),
    ],
)
def test_what_was_said_is_found_in_the_language_in_which_it_is_asked(
    search: MemorySearch, question: str, place: int
) -> None:
    assert search.search(question, limit=1)[0].chunk.text == SAID[place]
