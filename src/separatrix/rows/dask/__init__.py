# SPDX-License-Identifier: BSD-3-Clause
"""Rows in the partitions of a Dask array or dataframe: threads, processes or a cluster do the sums.

`collection` knows Dask's two kinds of table, `source` makes a pass one graph of tasks, `beside` brings labels and
weights to the partitions, `opening` puts them together. None of them is imported before such a table is given.
"""
