"""A note reads as its sentence, and can be told from another of the same words."""

from separatrix.study import Note


def test_a_note_is_its_text_and_equal_notes_are_one():
    dropped, separation = Note("dropped", "a column."), Note("separation", "a column.")
    assert f"{dropped}" == "a column."
    assert list(dict.fromkeys([dropped, Note("dropped", "a column."), separation])) == [dropped, separation]
