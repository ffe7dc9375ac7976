"""Sessions of Spark, and what a caller names as a DataFrame."""

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError, MissingExtraError, ParameterError, parameter, shown
from fim_private.reading.columns import ReadAs, Roles
from fim_private.reading.files import JSON_SUFFIXES, TEXT_SUFFIXES
from fim_private.reading.labels import Item, Labels
from fim_private.reading.locations import Address, Database, source_of
from fim_private.reading.options import InputForm, Reading
from fim_private.reading.record_batches import (
    ArrowSource,
    chosen,
    empty_batch,
    keyed_rows,
    sliced,
)
from fim_private.reading.transactions import KeyedRows
from fim_private.reading.values import value_type
from fim_private.spark.tasks import Batches, SparkFrame, spark_call, spark_errors

# Where nobody names a master: all cores, and a task may fail four times; in plain local mode one
# failure ends the run.
_MASTER = "local[*,4]"
_LOG_LEVEL = "spark.log.level"
# All that is ours in a new session; of a caller's nothing is changed. Spark's bar and log would mix
# with our output.
OURS = {
    "spark.app.name": "fim-private",
    "spark.ui.showConsoleProgress": "false",
    _LOG_LEVEL: "ERROR",
    # What folders are called is text, as on one machine.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}


Settings = Mapping[str, str] | None  # of a new session


def session(settings: Settings = None) -> Any:
    """Return the session that there is, or a new one: as spark-submit, SPARK_REMOTE or
    spark-defaults.conf say.

    settings: of Spark, for a new session, such as {"spark.master": "local[4]"}. Raises
    MissingExtraError, DataError if Spark does not start, and ParameterError for settings
    that the session that there is has not.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise MissingExtraError(
            f"{parameter('engine')} spark needs pyspark: pip install 'fim-private[spark]'"
        )
    asked_settings = dict(settings or {})
    then = (
        "it needs Java 17 or newer (Debian: openjdk-17-jre-headless; or set JAVA_HOME), and "
        f"settings that it knows; {parameter('spark_conf')} '{_LOG_LEVEL}=ERROR' shows what it says"
    )
    with spark_errors("Spark did not start", then):
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        present = SparkSession.getActiveSession()
        # of another thread
        if present is None and SparkContext._active_spark_context is not None:
            present = SparkSession.builder.getOrCreate()
        if present is None:
            return _started(asked_settings)
        for name, value in asked_settings.items():
            if present.conf.get(name, "") != value:
                raise ParameterError(
                    f"leave out {parameter('spark_conf')} {name!r}: the session that runs already "
                    f"has another setting"
                )
    return present


def _started(settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    here = (
        not {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"} & {*os.environ}
        and "spark.remote" not in settings
    )
    is_quiet = here and _LOG_LEVEL not in settings
    # MASTER comes after all other places where Spark looks for one. Workers on this machine run the
    # Python that this runs in; on a cluster the caller names it.
    variables = {}
    if here:
        settings = OURS | settings
        variables["MASTER"] = _MASTER
        if settings.get("spark.master", "local").startswith("local"):
            variables["PYSPARK_PYTHON"] = sys.executable
    variables = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(variables)
    log = _hushed() if is_quiet else nullcontext()
    try:
        with log:
            return SparkSession.builder.config(map={**settings}).getOrCreate()
    finally:
        for name in variables:
            del os.environ[name]


@contextmanager
def _hushed() -> Iterator[None]:
    """Let this process, and those that it starts, write no errors: Java's log quotes rows."""
    sys.stderr.flush()
    errors = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)


def settings_of(texts: list[str]) -> dict[str, str]:
    """Return settings of Spark given as texts such as "spark.master=local[4]"; ParameterError for
    another text.
    """
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            raise ParameterError(
                f"{parameter('spark_conf')} must be a setting of Spark and its value, such as "
                f"'spark.master=local[4]', not {shown(text)}"
            )
        settings[name] = value
    return settings


# what Spark calls a timestamp, and gives in the zone of its session
INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of a table in tasks of Spark.

    Attributes:
        roles: The roles of its columns.
        schema: The types of the columns of roles.names, in their order.
    """

    roles: Roles
    schema: pa.Schema

    @property
    def whole(self) -> bool:
        """Whether rows are as in the source, and not put together of neighbours."""
        return self.roles.is_list or self.roles.form is not InputForm.LONG

    @property
    def keys(self) -> list[pa.Field]:
        """The columns that `KeyedRows.keys` has, with their types.

        Raises DataError for types that cannot be read, before anything is.
        """
        empty = empty_batch(self.schema, self.roles.names)
        rows = next(self.rows(iter([empty]), {}, 0))
        return [pa.field(name, value_type(key.type)) for name, key in rows.keys.items()]

    def rows(self, batches: Batches, codes: Mapping[Item, int], count: int) -> Iterator[KeyedRows]:
        """Yield the rows of batches with the columns of roles.names, of items with these codes, or
        raise DataError.
        """
        roles = self.roles
        labels = Labels(roles.items_name, fold_case=roles.fold_case, known=codes, count=count)
        for batch in sliced(self.typed(batches), roles):
            yield from keyed_rows(chosen(batch, roles), roles, labels)

    def typed(self, batches: Batches) -> Batches:
        """Yield batches with the names and types of the columns.

        Times are in UTC then: no setting changes a label or a comparison.
        """
        for batch in batches:
            yield batch.rename_columns(self.roles.names).cast(self.schema)


VIEW = "data"  # what the source is called in a query
_TABLES = {".parquet": "Parquet", ".orc": "ORC"}
_TEXTS = {*TEXT_SUFFIXES, *JSON_SUFFIXES, ".json"}


@dataclass(frozen=True)
class Table:
    """A DataFrame with the columns that are needed, in the order of the roles that the reader gives
    them.
    """

    frame: SparkFrame
    reader: RowReader
    read_as: ReadAs


def is_dataframe(data: object) -> bool:
    """Return whether something is a DataFrame of Spark, also of Spark Connect, without importing
    it.
    """
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")


# Of plans of Spark, those that pass on every row of another; and those that hold their rows, or
# read all of a table.
_PASSING_PLANS = ("SubqueryAlias", "Repartition", "RepartitionByExpression", "Sort")
_BARE_PLANS = ("LocalRelation", "LogicalRDD", "HiveTableRelation")
# How files are read of which no row is left out. Readers of text may skip rows by what is in them:
# comments, and those with errors.
_WHOLE_FORMATS = ("ParquetFileFormat", "OrcFileFormat")


def is_query(data: Any, options: Reading, settings: Settings = None) -> bool:
    """Tell whether a query may have chosen the rows of what a caller names, as `opened_table` takes
    it.

    It has not chosen those of a path, of a table, or of a DataFrame of one to which nothing was
    added. All else counts as a query, and so does a DataFrame of text files.
    """
    if options.query is not None:
        return True
    data = _readable(data)
    # What is neither text nor a DataFrame is refused when it is opened.
    is_path = isinstance(data, str) and _is_path(data)
    if is_path or not (isinstance(data, str) or is_dataframe(data)):
        return False
    with _reading_errors(data):
        frame, _, _ = _frame(data, options, settings, ExitStack())
        return not _is_bare(frame)


def _is_bare(frame: SparkFrame) -> bool:
    try:
        with spark_call():
            plan = frame._jdf.queryExecution().analyzed()
            while _class_name(plan) in _PASSING_PLANS:
                plan = plan.child()
            # of files; another, such as one of JDBC, may be a query elsewhere
            if _class_name(plan) == "LogicalRelation":
                relation = plan.relation()
                is_of_files = _class_name(relation) == "HadoopFsRelation"
                return is_of_files and _class_name(relation.fileFormat()).endswith(_WHOLE_FORMATS)
            return _class_name(plan) in _BARE_PLANS
    # Spark Connect does not say how a frame was made, and some clusters do not let Python look.
    except DataError:
        return False


def _class_name(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())


@contextmanager
def opened_table(data: Any, options: Reading, settings: Settings = None) -> Iterator[Table]:
    """Yield the table that a caller names, with the roles of its columns; a view that a query needs
    lasts as long.

    data: a DataFrame; a path, address, pattern or folder of Parquet or ORC; else a table's name.
    settings: as of session. Raises DataError and ParameterError.
    """
    data = _readable(data)
    with ExitStack() as views:
        with _reading_errors(data):
            frame, name, kind = _frame(data, options, settings, views)
            schema = _arrow_schema(frame.schema)
        source = ArrowSource(name, schema, lambda scan: (), kind)
        roles = source.roles(options)
        if roles.form is InputForm.ONE_HOT:
            raise DataError(
                f"{name} has a column for each item, which {parameter('engine')} spark does not "
                f"read: give one row per item, or a column of lists"
            )
        with spark_call():
            # Under names of ours: theirs may hold letters that Spark takes for more.
            numbered = frame.toDF(*(f"c{place}" for place in range(len(schema.names))))
            needed = numbered.select(*(f"c{schema.names.index(name)}" for name in roles.names))
        reader = RowReader(roles, pa.schema(map(schema.field, roles.names)))
        yield Table(needed, reader, source.read_as(roles))


def _readable(data: object) -> object:
    """Return what a caller names, a path as text; DataError for one that Spark cannot read.

    That is said before anything is started, which takes a while.
    """
    if isinstance(data, os.PathLike):
        data = os.fspath(data)
    if not isinstance(data, str):
        return data
    refused = f"{parameter('engine')} spark does not read {_name(data)}"
    if isinstance(source_of(data), Database) or data == "-":
        raise DataError(f"{refused}; leave it out")
    if _suffix(data) in _TEXTS:
        raise DataError(
            f"{refused}, since Spark guesses how text is written: "
            "convert it to Parquet, or give the DataFrame that you read"
        )
    return data


def _reading_errors(data: Any) -> AbstractContextManager[None]:
    return spark_errors(
        f"Spark cannot read {_name(data)}", "name a path or a table that it can read"
    )


def _is_path(name: str) -> bool:
    """Tell whether a name is of files, and not of a table."""
    if _suffix(name) in _TABLES or isinstance(source_of(name), Address):
        return True
    return os.sep in name or "*" in name or Path(name).exists()


def _frame(
    data: Any, options: Reading, settings: Settings, views: ExitStack
) -> tuple[SparkFrame, str, str]:
    """Return a DataFrame, what errors call it, and what it is read as."""
    if is_dataframe(data):
        frame, name, kind = data, "the DataFrame", "Spark DataFrame"
    elif not isinstance(data, str):
        raise ParameterError(
            f"{parameter('engine')} spark reads a DataFrame of Spark, a table or a path, not a "
            f"{type(data).__name__}"
        )
    elif _is_path(data):
        name, kind = _name(data), _TABLES.get(_suffix(data), "Parquet")
        frame = session(settings).read.format(kind.lower()).load(data)
    else:
        name, kind = f"table {data!r}", "Spark table"
        frame = session(settings).table(data)
    if options.query is None:
        return frame, name, kind
    spark = frame.sparkSession
    if spark.catalog.tableExists(VIEW):
        raise ParameterError(
            f"{parameter('query')} calls the source {VIEW!r}, and this session has a table of that "
            f"name: drop it"
        )
    frame.createTempView(VIEW)
    views.callback(spark.catalog.dropTempView, VIEW)
    with spark_errors(
        f"Spark cannot run {parameter('query')}", f"correct it; in it the source is called {VIEW}"
    ):
        queried = spark.sql(options.query)
        queried.schema  # noqa: B018 - with Spark Connect errors show only now
    return queried, "the query", "Spark query"


def _suffix(name: str) -> str:
    return PurePath(name.rstrip("/").removesuffix(".gz").removesuffix(".bz2")).suffix.lower()


def _arrow_schema(schema: Any) -> pa.Schema:
    """Return the columns of a DataFrame as Arrow has them. One that Arrow has not has no role, and
    is a struct.
    """
    from pyspark.sql.pandas.types import to_arrow_type

    def kind(field: Any) -> pa.DataType:
        if field.dataType.typeName() == "timestamp":
            return INSTANT
        try:
            return to_arrow_type(field.dataType)
        except Exception:  # of which kinds differs by version
            return pa.struct([])

    return pa.schema([pa.field(field.name, kind(field)) for field in schema.fields])


def _name(data: Any) -> str:
    """Return what errors call a source."""
    return repr(source_of(data).shown) if isinstance(data, str) else "the DataFrame"
