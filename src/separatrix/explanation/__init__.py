# SPDX-License-Identifier: BSD-3-Clause
"""Why did a row get its probability? Contributions of the columns, and changes that would change the decision.

columns   a column of the user's table: how it is encoded, and the values that it may take
scores    log-odds as a sum over columns, with their distribution; parts of the change of a probability
changes   the smallest changes of one or two columns that change the decision
result    the table, with its text, HTML and picture
arrays    models of arrays: each column is a feature
explain   from a fitted model and rows to the result
"""

from separatrix.explanation.arrays import AVERAGE, explained_array, of_given, outside, own_columns
from separatrix.explanation.changes import Change, Decision, costs_of_threshold
from separatrix.explanation.columns import Column, cells_of, columns_of_schema, number_columns
from separatrix.explanation.explain import Explained, Explains, explain_means, explain_rows, row_labels
from separatrix.explanation.result import Explanation, RowExplanation
from separatrix.explanation.scores import LinearScores, MeanScores, Scores, SumScores
