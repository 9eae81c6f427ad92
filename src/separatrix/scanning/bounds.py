# SPDX-License-Identifier: BSD-3-Clause
"""What a condition in SQL says about single columns, as an expression that statistics of row groups can refute.

`implied` finds an expression of Arrow that holds for every row for which the condition does. It may hold for more: what
it cannot say with certainty it leaves out, so that a row group is passed over only where no row of it can count.

    age > 30 AND lower(city) = 'rome'     ->   age > 30
    age > 30 OR  lower(city) = 'rome'     ->   nothing

DuckDB, which evaluates the condition on the rows that are read, has NaN above every number, and statistics do not
tell of NaN. So ``x > 3`` is left out where x is a float, and ``x < 3`` is not; nor does a constant NaN say anything.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["implied", "parse"]

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "COMPARE_EQUAL": operator.eq,
    "COMPARE_LESSTHAN": operator.lt,
    "COMPARE_LESSTHANOREQUALTO": operator.le,
    "COMPARE_GREATERTHAN": operator.gt,
    "COMPARE_GREATERTHANOREQUALTO": operator.ge,
}
MIRRORED = {operator.lt: operator.gt, operator.le: operator.ge, operator.gt: operator.lt, operator.ge: operator.le}
FALSE_FOR_NAN = (operator.eq, operator.lt, operator.le)
DIGITS = 15  # of a decimal that doubles tell from every other one
ENDS = (date.min, date.max, datetime.min, datetime.max)  # as which DuckDB gives out infinity too


def parse(where: str) -> tuple[Any, str]:
    """The tree of a condition, as DuckDB's own parser has it; or what is wrong with it."""
    import duckdb

    with closing(duckdb.connect()) as database:
        parsed = _serialized(database, f"SELECT 1 FROM t WHERE {where}")
    if parsed["error"]:
        return None, str(parsed.get("error_message", "no condition of SQL"))
    return parsed["statements"][0]["node"]["where_clause"], ""


def implied(where: str, schema: pa.Schema) -> Any:
    """An expression of Arrow that holds wherever the condition does, on columns of these types; None: none is known."""
    import duckdb

    tree, wrong = parse(where)
    if wrong:
        return None
    with closing(duckdb.connect()) as database:
        return _implied(tree, schema, database)


def _implied(node: Any, schema: pa.Schema, database: Any) -> Any:
    kind, name = node["class"], node["type"]
    if kind == "CONJUNCTION":
        terms = [_implied(child, schema, database) for child in node["children"]]
        return _all(terms) if name == "CONJUNCTION_AND" else _any(terms)
    if name in COMPARISONS:
        left, compare, right = node["left"], COMPARISONS[name], node["right"]
        if _column(left, schema) is None:
            left, compare, right = right, MIRRORED.get(compare, compare), left
        return _compared(left, compare, right, schema, database)
    if kind == "BETWEEN":
        ends = ((operator.ge, node["lower"]), (operator.le, node["upper"]))
        return _all([_compared(node["input"], compare, end, schema, database) for compare, end in ends])
    if name == "COMPARE_IN":
        column, *values = node["children"]
        return _any([_compared(column, operator.eq, value, schema, database) for value in values])
    return _presence(node, schema)


def _presence(node: Any, schema: pa.Schema) -> Any:
    import pyarrow.compute as pc

    if node["type"] not in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
        return None
    name = _column(node["children"][0], schema)
    if name is None:
        return None
    return pc.field(name).is_null() if node["type"] == "OPERATOR_IS_NULL" else pc.field(name).is_valid()


def _all(terms: list[Any]) -> Any:
    """What holds where all do: those that are known."""
    known = [term for term in terms if term is not None]
    return reduce(operator.and_, known) if known else None


def _any(terms: list[Any]) -> Any:
    """What holds where one does: nothing, where one is not known."""
    return None if any(term is None for term in terms) else reduce(operator.or_, terms)


def _column(node: Any, schema: pa.Schema) -> str | None:
    """The column that a node is, and nothing but."""
    names: list[str] = node["column_names"] if node["class"] == "COLUMN_REF" else []
    return names[0] if len(names) == 1 and names[0] in schema.names else None


def _compared(left: Any, compare: Callable[[Any, Any], Any], right: Any, schema: pa.Schema, database: Any) -> Any:
    """A column compared with a constant that means the same to Arrow as it does to DuckDB; None otherwise."""
    import pyarrow.compute as pc

    name = _column(left, schema)
    if name is None or not _is_constant(right):
        return None
    constant = _same(*_value(right, database), schema.field(name).type, compare)
    return None if constant is None else compare(pc.field(name), constant)


def _is_constant(node: Any) -> bool:
    return node["class"] == "CONSTANT" or (node["class"] == "CAST" and _is_constant(node["child"]))


def _value(node: Any, database: Any) -> tuple[Any, str]:
    """Of a constant, and its type: DuckDB says, as how it writes one in its tree is its own affair."""
    import duckdb

    query = _serialized(database, "SELECT 1")
    query["statements"][0]["node"]["select_list"] = [node]
    try:
        text = database.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(query)]).fetchall()[0][0]
        value, kind = database.execute(f"SELECT v, typeof(v) FROM ({text}) AS constant(v)").fetchall()[0]
    except duckdb.Error:  # a cast that fails; whoever evaluates the condition says so
        return None, ""
    return value, kind


def _same(value: Any, of: str, kind: pa.DataType, compare: Callable[[Any, Any], Any]) -> Any:
    """The constant, of a type of DuckDB's, as a scalar of the column's own type; None where they may differ."""
    import pyarrow as pa

    types = pa.types
    if types.is_integer(kind):
        fits = type(value) is int
    elif types.is_float64(kind):
        fits = compare in FALSE_FOR_NAN and _is_one_double(value)
        value = float(value) if fits else value
    elif types.is_string(kind) or types.is_large_string(kind):
        fits = of == "VARCHAR"
    elif types.is_date32(kind):
        fits = of == "DATE" and value not in ENDS
    else:
        fits = types.is_timestamp(kind) and kind.tz is None and of == "TIMESTAMP" and value not in ENDS
    if not fits or value is None:
        return None
    try:  # beyond what the column can hold, or between two values of it (a moment of which it knows the second)
        return pa.scalar(value, pa.timestamp("us")).cast(kind) if types.is_timestamp(kind) else pa.scalar(value, kind)
    except (pa.ArrowException, OverflowError):
        return None


def _is_one_double(value: Any) -> bool:
    """Whether a number is, to everyone, the same double: not NaN, nor of so many digits that roundings differ."""
    if type(value) is float:
        return not isnan(value)
    if type(value) not in (int, Decimal):
        return False
    _, digits, exponent = Decimal(value).as_tuple()
    return max(len(digits), -int(exponent)) <= DIGITS


def _serialized(database: Any, query: str) -> Any:
    return json.loads(database.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()[0][0])
