"""The SQL by which the outlines of chunks follow the chunks.

The opening of an outline is the beginning of the turn up to its first colon, if that comes early: it may name the
speaker.
"""

FIRST_COLON = "nullif(instr(substr({text}, 1, 39), ':'), 0)"
FIRST_COLON_OF_ANY_WIDTH = "nullif(instr(replace(substr({text}, 1, 39), '：', ':'), ':'), 0)"


def _opening(text: str, first_colon: str) -> str:
    return f"substr({text}, 1, {first_colon.format(text=text)} + 1)"


def _opening_of_turn(chunk: str, first_colon: str) -> str:
    return (
        f"(SELECT {_opening('text', first_colon)} FROM chunks AS opening"
        f" WHERE opening.turn = {chunk}.turn AND opening.number = 0 AND opening.role = {chunk}.role)"
    )


def outlines_of_chunks(first_colon: str) -> str:
    return (
        f"SELECT id, turn, role, first_position, time, deleted, {_opening_of_turn('chunks', first_colon)}\n"
        "    FROM chunks WHERE merged_into IS NULL"
    )


def outline_triggers(first_colon: str) -> str:
    return f"""
CREATE TRIGGER outline_of_new_chunk AFTER INSERT ON chunks WHEN new.merged_into IS NULL BEGIN
    INSERT INTO outlines VALUES
        (new.id, new.turn, new.role, new.first_position, new.time, new.deleted, {_opening_of_turn("new", first_colon)});
    UPDATE outlines SET opening = {_opening("new.text", first_colon)}
        WHERE new.number = 0 AND id IN (SELECT id FROM chunks WHERE turn = new.turn AND role = new.role);
END;
CREATE TRIGGER outline_of_changed_chunk AFTER UPDATE OF text, deleted, merged_into ON chunks BEGIN
    DELETE FROM outlines WHERE id = new.id AND new.merged_into IS NOT NULL;
    UPDATE outlines SET deleted = new.deleted WHERE id = new.id;
    UPDATE outlines SET opening = {_opening("new.text", first_colon)}
        WHERE new.number = 0 AND new.text IS NOT old.text
        AND id IN (SELECT id FROM chunks WHERE turn = new.turn AND role = new.role);
END;
"""
