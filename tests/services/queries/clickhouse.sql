CREATE TEMPORARY TABLE fim_rows AS
SELECT
  *
FROM (
  SELECT
    COALESCE(
      nullIf(
        CASE
          WHEN notEmpty(
            extractGroups(
              CAST("t0"."store" AS String),
              CONCAT(
                '(',
                '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$',
                ')'
              )
            )[2]
          )
          THEN extractGroups(
            CAST("t0"."store" AS String),
            CONCAT(
              '(',
              '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$',
              ')'
            )
          )[2]
          ELSE NULL
        END,
        ''
      ),
      nullIf(
        replaceRegexpAll(
          "t0"."store",
          '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(#N/A|#N/A N/A|#NA|-1[.]#IND|-1[.]#QNAN|-NaN|-nan|1[.]#IND|1[.]#QNAN|<NA>|N/A|NA|NULL|NaN|None|[\\\\]N|n/a|nan|null)?[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$|^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]+|[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]+$',
          ''
        ),
        ''
      )
    ) AS "key0",
    "t0"."visit" AS "key1",
    COALESCE(
      COALESCE(
        nullIf(
          CASE
            WHEN notEmpty(
              extractGroups(
                CAST("t0"."customer" AS String),
                CONCAT(
                  '(',
                  '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$',
                  ')'
                )
              )[2]
            )
            THEN extractGroups(
              CAST("t0"."customer" AS String),
              CONCAT(
                '(',
                '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$',
                ')'
              )
            )[2]
            ELSE NULL
          END,
          ''
        ),
        nullIf(
          replaceRegexpAll(
            "t0"."customer",
            '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(#N/A|#N/A N/A|#NA|-1[.]#IND|-1[.]#QNAN|-NaN|-nan|1[.]#IND|1[.]#QNAN|<NA>|N/A|NA|NULL|NaN|None|[\\\\]N|n/a|nan|null)?[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$|^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]+|[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]+$',
            ''
          ),
          ''
        )
      ),
      ''
    ) AS "key_user",
    isNull(
      COALESCE(
        nullIf(
          CASE
            WHEN notEmpty(
              extractGroups(
                CAST("t0"."customer" AS String),
                CONCAT(
                  '(',
                  '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$',
                  ')'
                )
              )[2]
            )
            THEN extractGroups(
              CAST("t0"."customer" AS String),
              CONCAT(
                '(',
                '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$',
                ')'
              )
            )[2]
            ELSE NULL
          END,
          ''
        ),
        nullIf(
          replaceRegexpAll(
            "t0"."customer",
            '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(#N/A|#N/A N/A|#NA|-1[.]#IND|-1[.]#QNAN|-NaN|-nan|1[.]#IND|1[.]#QNAN|<NA>|N/A|NA|NULL|NaN|None|[\\\\]N|n/a|nan|null)?[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$|^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]+|[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]+$',
            ''
          ),
          ''
        )
      )
    ) AS "key_nobody",
    toDate(toTimeZone("t0"."day", 'UTC')) AS "day",
    0 AS "part",
    COALESCE(
      (
        CASE WHEN isNaN("t0"."price") THEN NULL ELSE "t0"."price" END < 2.5
      )
      AND NOT (
        isNull(
          nullIf(
            replaceRegexpAll(
              "t0"."store",
              '^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*(#N/A|#N/A N/A|#NA|-1[.]#IND|-1[.]#QNAN|-NaN|-nan|1[.]#IND|1[.]#QNAN|<NA>|N/A|NA|NULL|NaN|None|[\\\\]N|n/a|nan|null)?[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]*$|^[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]+|[\t\n\v\f\r\x1c\x1d\x1e\x1f    -     　]+$',
              ''
            ),
            ''
          )
        )
      )
      AND (
        "t0"."day" >= parseDateTimeBestEffort('2026-02-10T00:00:00+00:00', 'UTC')
      ),
      FALSE
    ) AS "read",
    "t0"."product" AS "i0"
  FROM "sales" AS "t0"
) AS "t1"
WHERE
  isNotNull("t1"."key0") AND isNotNull("t1"."key1") AND isNotNull("t1"."day");

SELECT DISTINCT
  "t0"."i0" AS "i0"
FROM "fim_rows" AS "t0"
WHERE
  "t0"."read";

-- fim_items is uploaded: i0, item

CREATE TEMPORARY TABLE fim_named AS
SELECT
  "t2"."key0" AS "key0",
  "t2"."key1" AS "key1",
  "t2"."key_user" AS "key_user",
  "t2"."key_nobody" AS "key_nobody",
  "t2"."day" AS "day",
  "t2"."place" AS "place",
  ROW_NUMBER() OVER (
    ORDER BY CAST(NULL AS Nullable(Int64)) ASC
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
  ) - 1 AS "basket"
FROM (
  SELECT
    "t1"."key0" AS "key0",
    "t1"."key1" AS "key1",
    "t1"."key_user" AS "key_user",
    "t1"."key_nobody" AS "key_nobody",
    "t1"."day" AS "day",
    CAST(CASE
      WHEN "t1"."day" BETWEEN toDate('2026-02-01') AND toDate('2026-02-28')
      THEN 0
      ELSE -1
    END AS Nullable(Int32)) AS "place"
  FROM (
    SELECT
      "t0"."key0" AS "key0",
      "t0"."key1" AS "key1",
      "t0"."key_user" AS "key_user",
      "t0"."key_nobody" AS "key_nobody",
      MIN("t0"."day") AS "day"
    FROM "fim_rows" AS "t0"
    GROUP BY
      "t0"."key0",
      "t0"."key1",
      "t0"."key_user",
      "t0"."key_nobody"
  ) AS "t1"
  WHERE
    CAST(CASE
      WHEN "t1"."day" BETWEEN toDate('2026-02-01') AND toDate('2026-02-28')
      THEN 0
      ELSE -1
    END AS Nullable(Int32)) >= 0
) AS "t2";

CREATE TEMPORARY TABLE fim_users AS
SELECT
  "t1"."key_user" AS "key_user",
  ROW_NUMBER() OVER (
    ORDER BY CAST(NULL AS Nullable(Int64)) ASC
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
  ) - 1 AS "unit"
FROM (
  SELECT DISTINCT
    "t0"."key_user" AS "key_user"
  FROM "fim_named" AS "t0"
  WHERE
    NOT (
      "t0"."key_nobody"
    )
) AS "t1";

SELECT
  "t10"."part" AS "place",
  uniq("t10"."unit") AS "value"
FROM (
  SELECT
    "t9"."unit" AS "unit",
    "t9"."basket" AS "basket",
    "t9"."i0" AS "i0",
    "t9"."part" AS "part"
  FROM (
    SELECT
      "t3"."key0" AS "key0",
      "t3"."key1" AS "key1",
      "t3"."key_user" AS "key_user",
      "t3"."key_nobody" AS "key_nobody",
      "t3"."day" AS "day",
      "t3"."part" AS "part",
      "t3"."read" AS "read",
      "t3"."i0" AS "i0",
      "t8"."basket" AS "basket",
      "t8"."unit" AS "unit"
    FROM "fim_rows" AS "t3"
    INNER JOIN (
      SELECT
        "t6"."key0" AS "key0",
        "t6"."key1" AS "key1",
        "t6"."key_user" AS "key_user",
        "t6"."key_nobody" AS "key_nobody",
        "t6"."basket" AS "basket",
        CASE WHEN "t6"."key_nobody" THEN -1 - "t6"."basket" ELSE "t6"."unit" END AS "unit"
      FROM (
        SELECT
          "t4"."key0" AS "key0",
          "t4"."key1" AS "key1",
          "t4"."key_user" AS "key_user",
          "t4"."key_nobody" AS "key_nobody",
          "t4"."day" AS "day",
          "t4"."place" AS "place",
          "t4"."basket" AS "basket",
          "t5"."key_user" AS "key_user_right",
          "t5"."unit" AS "unit"
        FROM "fim_named" AS "t4"
        LEFT OUTER JOIN "fim_users" AS "t5"
          ON "t4"."key_user" = "t5"."key_user"
      ) AS "t6"
    ) AS "t8"
      ON "t3"."key0" = "t8"."key0"
      AND "t3"."key1" = "t8"."key1"
      AND "t3"."key_user" = "t8"."key_user"
      AND "t3"."key_nobody" = "t8"."key_nobody"
  ) AS "t9"
  WHERE
    "t9"."read"
) AS "t10"
GROUP BY
  "t10"."part";

CREATE TEMPORARY TABLE fim_entries AS
SELECT DISTINCT
  "t14"."unit" AS "unit",
  "t14"."basket" AS "basket",
  "t14"."item" AS "item"
FROM (
  SELECT
    "t13"."unit" AS "unit",
    "t13"."basket" AS "basket",
    "t13"."i0" AS "i0",
    "t4"."item" AS "item"
  FROM (
    SELECT
      "t11"."unit" AS "unit",
      "t11"."basket" AS "basket",
      "t11"."i0" AS "i0"
    FROM (
      SELECT
        "t5"."key0" AS "key0",
        "t5"."key1" AS "key1",
        "t5"."key_user" AS "key_user",
        "t5"."key_nobody" AS "key_nobody",
        "t5"."day" AS "day",
        "t5"."part" AS "part",
        "t5"."read" AS "read",
        "t5"."i0" AS "i0",
        "t10"."basket" AS "basket",
        "t10"."unit" AS "unit"
      FROM "fim_rows" AS "t5"
      INNER JOIN (
        SELECT
          "t8"."key0" AS "key0",
          "t8"."key1" AS "key1",
          "t8"."key_user" AS "key_user",
          "t8"."key_nobody" AS "key_nobody",
          "t8"."basket" AS "basket",
          CASE WHEN "t8"."key_nobody" THEN -1 - "t8"."basket" ELSE "t8"."unit" END AS "unit"
        FROM (
          SELECT
            "t6"."key0" AS "key0",
            "t6"."key1" AS "key1",
            "t6"."key_user" AS "key_user",
            "t6"."key_nobody" AS "key_nobody",
            "t6"."day" AS "day",
            "t6"."place" AS "place",
            "t6"."basket" AS "basket",
            "t7"."key_user" AS "key_user_right",
            "t7"."unit" AS "unit"
          FROM "fim_named" AS "t6"
          LEFT OUTER JOIN "fim_users" AS "t7"
            ON "t6"."key_user" = "t7"."key_user"
        ) AS "t8"
      ) AS "t10"
        ON "t5"."key0" = "t10"."key0"
        AND "t5"."key1" = "t10"."key1"
        AND "t5"."key_user" = "t10"."key_user"
        AND "t5"."key_nobody" = "t10"."key_nobody"
    ) AS "t11"
    WHERE
      "t11"."read"
  ) AS "t13"
  INNER JOIN "fim_items" AS "t4"
    ON "t13"."i0" = "t4"."i0"
) AS "t14";

CREATE TEMPORARY TABLE fim_long AS
SELECT
  "t3".*
  EXCEPT ("items")
FROM (
  SELECT
    *
  FROM (
    SELECT
      "t1"."unit" AS "unit",
      "t1"."basket" AS "basket",
      "t1"."item" AS "item",
      "t1"."part" AS "part",
      COUNT(*) OVER (
        PARTITION BY "t1"."basket", "t1"."part"
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS "items"
    FROM (
      SELECT
        "t0"."unit" AS "unit",
        "t0"."basket" AS "basket",
        "t0"."item" AS "item",
        0 AS "part"
      FROM "fim_entries" AS "t0"
    ) AS "t1"
  ) AS "t2"
  WHERE
    "t2"."items" >= 2
) AS "t3";

CREATE TEMPORARY TABLE fim_times AS
SELECT
  "t1"."unit" AS "unit",
  "t1"."item" AS "item",
  COUNT(*) AS "times"
FROM (
  SELECT
    "t0"."unit" AS "unit",
    "t0"."basket" AS "basket",
    "t0"."item" AS "item"
  FROM "fim_long" AS "t0"
  WHERE
    "t0"."part" = 0
) AS "t1"
GROUP BY
  "t1"."unit",
  "t1"."item";

CREATE TEMPORARY TABLE fim_totals AS
SELECT
  "t1"."unit" AS "unit",
  COUNT(*) AS "items",
  SUM("t1"."times") AS "total"
FROM (
  SELECT
    "t0"."unit" AS "unit",
    "t0"."item" AS "place",
    "t0"."times" AS "times"
  FROM "fim_times" AS "t0"
) AS "t1"
GROUP BY
  "t1"."unit";

CREATE TEMPORARY TABLE fim_beyond AS
SELECT
  "t7"."unit" AS "unit",
  "t7"."place" AS "place",
  "t7"."times" AS "times"
FROM (
  SELECT
    "t6"."unit" AS "unit",
    "t6"."place" AS "place",
    "t6"."times" AS "times",
    ROW_NUMBER() OVER (
      PARTITION BY "t6"."unit"
      ORDER BY "t6"."times" DESC, "t6"."place" ASC
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) - 1 AS "order"
  FROM (
    SELECT
      "t3"."unit" AS "unit",
      "t3"."place" AS "place",
      "t3"."times" AS "times"
    FROM (
      SELECT
        "t0"."unit" AS "unit",
        "t0"."item" AS "place",
        "t0"."times" AS "times"
      FROM "fim_times" AS "t0"
    ) AS "t3"
    LEFT SEMI JOIN (
      SELECT
        *
      FROM "fim_totals" AS "t1"
      WHERE
        "t1"."items" > 150
    ) AS "t5"
      ON "t3"."unit" = "t5"."unit"
  ) AS "t6"
) AS "t7"
WHERE
  "t7"."order" >= 150;

SELECT
  "t13"."place" AS "place",
  CAST(SUM("t13"."weight") AS Nullable(Int64)) AS "value"
FROM (
  SELECT
    "t12"."unit" AS "unit",
    "t12"."place" AS "place",
    "t12"."times" AS "times",
    "t12"."total" AS "total",
    CAST(CASE
      WHEN (
        "t12"."root" * "t12"."root" * "t12"."total"
      ) <= "t12"."square"
      THEN "t12"."root"
      WHEN (
        (
          "t12"."root" - 1
        ) * (
          "t12"."root" - 1
        ) * "t12"."total"
      ) <= "t12"."square"
      THEN "t12"."root" - 1
      ELSE 0
    END AS Nullable(Float64)) AS "weight"
  FROM (
    SELECT
      "t11"."unit" AS "unit",
      "t11"."place" AS "place",
      "t11"."times" AS "times",
      "t11"."total" AS "total",
      "t11"."times" * 4294967296 AS "square",
      CAST(ROUND(SQRT((
        "t11"."times" * 4294967296
      ) / "t11"."total"), 0) AS Nullable(Int64)) AS "root"
    FROM (
      SELECT
        "t6"."unit" AS "unit",
        "t6"."place" AS "place",
        "t6"."times" AS "times",
        "t10"."total" AS "total"
      FROM (
        SELECT
          "t0"."unit" AS "unit",
          "t0"."item" AS "place",
          "t0"."times" AS "times"
        FROM "fim_times" AS "t0"
      ) AS "t6"
      LEFT ANTI JOIN "fim_beyond" AS "t3"
        ON "t6"."unit" = "t3"."unit" AND "t6"."place" = "t3"."place"
      INNER JOIN (
        SELECT
          "t4"."unit" AS "unit",
          "t4"."total" - COALESCE("t8"."left_out", 0) AS "total"
        FROM "fim_totals" AS "t4"
        LEFT OUTER JOIN (
          SELECT
            "t1"."unit" AS "unit",
            SUM("t1"."times") AS "left_out"
          FROM "fim_beyond" AS "t1"
          GROUP BY
            "t1"."unit"
        ) AS "t8"
          ON "t4"."unit" = "t8"."unit"
      ) AS "t10"
        ON "t6"."unit" = "t10"."unit"
    ) AS "t11"
  ) AS "t12"
) AS "t13"
GROUP BY
  "t13"."place";

CREATE TEMPORARY TABLE fim_recoded AS
SELECT
  "t4"."unit" AS "unit",
  "t4"."basket" AS "basket",
  "t2"."code" AS "item"
FROM (
  SELECT
    "t0"."unit" AS "unit",
    "t0"."basket" AS "basket",
    "t0"."item" AS "item"
  FROM "fim_long" AS "t0"
  WHERE
    "t0"."part" = 0
) AS "t4"
INNER JOIN "fim_codes" AS "t2"
  ON "t4"."item" = "t2"."item";

CREATE TEMPORARY TABLE fim_rows AS
WITH "t1" AS (
  SELECT
    "t0"."unit" AS "unit",
    "t0"."item" AS "item",
    "t0"."times" AS "times",
    "t0"."unit" AS "basket"
  FROM "fim_times" AS "t0"
)
SELECT
  "t3"."unit" AS "unit",
  "t3"."item" AS "item",
  "t3"."times" AS "times",
  "t3"."basket" AS "basket",
  "t7"."total" AS "total"
FROM "t1" AS "t3"
INNER JOIN (
  SELECT
    *
  FROM (
    SELECT
      "t4"."unit" AS "unit",
      SUM("t4"."pairs") AS "total"
    FROM (
      SELECT
        "t2"."unit" AS "unit",
        "t2"."item" AS "item",
        "t2"."times" AS "times",
        "t2"."basket" AS "basket",
        "t2"."times" * (
          ROW_NUMBER() OVER (
            PARTITION BY "t2"."unit"
            ORDER BY "t2"."times" DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
          ) - 1
        ) AS "pairs"
      FROM "t1" AS "t2"
    ) AS "t4"
    GROUP BY
      "t4"."unit"
  ) AS "t5"
  WHERE
    "t5"."total" > 0
) AS "t7"
  ON "t3"."unit" = "t7"."unit";

SELECT
  "t6"."place" AS "place",
  CAST(SUM("t6"."weight") AS Nullable(Int64)) AS "value"
FROM (
  SELECT
    "t5"."unit" AS "unit",
    "t5"."basket" AS "basket",
    "t5"."total" AS "total",
    "t5"."place" AS "place",
    "t5"."times" AS "times",
    CAST(CASE
      WHEN (
        "t5"."root" * "t5"."root" * "t5"."total"
      ) <= "t5"."square"
      THEN "t5"."root"
      WHEN (
        (
          "t5"."root" - 1
        ) * (
          "t5"."root" - 1
        ) * "t5"."total"
      ) <= "t5"."square"
      THEN "t5"."root" - 1
      ELSE 0
    END AS Nullable(Float64)) AS "weight"
  FROM (
    SELECT
      "t4"."unit" AS "unit",
      "t4"."basket" AS "basket",
      "t4"."total" AS "total",
      "t4"."place" AS "place",
      "t4"."times" AS "times",
      "t4"."times" * 4294967296 AS "square",
      CAST(ROUND(SQRT((
        "t4"."times" * 4294967296
      ) / "t4"."total"), 0) AS Nullable(Int64)) AS "root"
    FROM (
      SELECT
        "t3"."unit" AS "unit",
        "t3"."basket" AS "basket",
        "t3"."total" AS "total",
        "t3"."pairs_before" + "t1"."item" AS "place",
        LEAST("t3"."times", "t1"."times") AS "times"
      FROM (
        SELECT
          "t0"."unit" AS "unit",
          "t0"."item" AS "item",
          "t0"."times" AS "times",
          "t0"."basket" AS "basket",
          "t0"."total" AS "total",
          CAST((
            CAST("t0"."item" AS Nullable(Int64)) * (
              CAST("t0"."item" AS Nullable(Int64)) - 1
            )
          ) / 2 AS Nullable(Int64)) AS "pairs_before"
        FROM "fim_rows" AS "t0"
      ) AS "t3"
      INNER JOIN "fim_rows" AS "t1"
        ON "t3"."basket" = "t1"."basket" AND "t3"."item" > "t1"."item"
    ) AS "t4"
  ) AS "t5"
) AS "t6"
GROUP BY
  "t6"."place";

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t14"."place" AS "place",
  "t14"."times" AS "times",
  "t14"."unit" AS "unit"
FROM (
  SELECT
    "t13".*
    EXCEPT ("more")
  FROM (
    SELECT
      "t12"."unit" AS "unit",
      "t12"."basket" AS "basket",
      "t12"."pair" AS "pair",
      LEAST("t12"."times", "t12"."more") AS "times",
      "t12"."i2" AS "i2",
      "t12"."place" AS "place",
      "t12"."more" AS "more"
    FROM (
      SELECT
        "t11"."unit" AS "unit",
        "t11"."basket" AS "basket",
        "t11"."pair" AS "pair",
        "t11"."times" AS "times",
        "t2"."i2" AS "i2",
        "t2"."place" AS "place",
        "t6"."more" AS "more"
      FROM (
        SELECT
          "t9"."unit" AS "unit",
          "t9"."basket" AS "basket",
          "t9"."place" AS "pair",
          "t9"."times" AS "times"
        FROM (
          SELECT
            "t8"."unit" AS "unit",
            "t8"."basket" AS "basket",
            "t8"."pairs_before" + "t4"."item" AS "place",
            LEAST("t8"."times", "t4"."times") AS "times"
          FROM (
            SELECT
              "t1"."unit" AS "unit",
              "t1"."item" AS "item",
              "t1"."times" AS "times",
              "t1"."basket" AS "basket",
              CAST((
                CAST("t1"."item" AS Nullable(Int64)) * (
                  CAST("t1"."item" AS Nullable(Int64)) - 1
                )
              ) / 2 AS Nullable(Int64)) AS "pairs_before"
            FROM "fim_rows" AS "t1"
          ) AS "t8"
          INNER JOIN "fim_rows" AS "t4"
            ON "t8"."basket" = "t4"."basket" AND "t8"."item" > "t4"."item"
        ) AS "t9"
      ) AS "t11"
      INNER JOIN "fim_candidates" AS "t2"
        ON "t11"."pair" = "t2"."pair"
      INNER JOIN (
        SELECT
          "t3"."basket" AS "basket",
          "t3"."times" AS "more",
          "t3"."item" AS "i2"
        FROM "fim_rows" AS "t3"
      ) AS "t6"
        ON "t11"."basket" = "t6"."basket" AND "t2"."i2" = "t6"."i2"
    ) AS "t12"
  ) AS "t13"
) AS "t14";

SELECT
  "t9"."place" AS "place",
  CAST(SUM("t9"."weight") AS Nullable(Int64)) AS "value"
FROM (
  SELECT
    "t8"."unit" AS "unit",
    "t8"."times" AS "times",
    "t8"."place" AS "place",
    "t8"."total" AS "total",
    CAST(CASE
      WHEN (
        "t8"."root" * "t8"."root" * "t8"."total"
      ) <= "t8"."square"
      THEN "t8"."root"
      WHEN (
        (
          "t8"."root" - 1
        ) * (
          "t8"."root" - 1
        ) * "t8"."total"
      ) <= "t8"."square"
      THEN "t8"."root" - 1
      ELSE 0
    END AS Nullable(Float64)) AS "weight"
  FROM (
    SELECT
      "t7"."unit" AS "unit",
      "t7"."times" AS "times",
      "t7"."place" AS "place",
      "t7"."total" AS "total",
      "t7"."times" * 4294967296 AS "square",
      CAST(ROUND(SQRT((
        "t7"."times" * 4294967296
      ) / "t7"."total"), 0) AS Nullable(Int64)) AS "root"
    FROM (
      SELECT
        "t2"."unit" AS "unit",
        "t2"."times" AS "times",
        "t3"."new" AS "place",
        "t6"."total" AS "total"
      FROM "fim_held" AS "t2"
      INNER JOIN "fim_places" AS "t3"
        ON "t2"."place" = "t3"."place"
      INNER JOIN (
        SELECT
          "t4"."unit" AS "unit",
          SUM("t4"."times") AS "total"
        FROM (
          SELECT
            "t2"."unit" AS "unit",
            "t2"."times" AS "times",
            "t3"."new" AS "place"
          FROM "fim_held" AS "t2"
          INNER JOIN "fim_places" AS "t3"
            ON "t2"."place" = "t3"."place"
        ) AS "t4"
        GROUP BY
          "t4"."unit"
      ) AS "t6"
        ON "t2"."unit" = "t6"."unit"
    ) AS "t7"
  ) AS "t8"
) AS "t9"
GROUP BY
  "t9"."place";

SELECT
  "t5"."number" AS "place",
  COUNT(*) AS "value"
FROM (
  SELECT
    "t4"."unit" AS "unit",
    COUNT(*) AS "number"
  FROM (
    SELECT
      "t2"."unit" AS "unit",
      "t2"."times" AS "times",
      "t3"."new" AS "place"
    FROM "fim_held" AS "t2"
    INNER JOIN "fim_places" AS "t3"
      ON "t2"."place" = "t3"."place"
  ) AS "t4"
  GROUP BY
    "t4"."unit"
) AS "t5"
GROUP BY
  "t5"."number";

-- fim_weights is uploaded: total, weight

SELECT
  "t11"."place" AS "place",
  CAST(SUM("t11"."weight") AS Nullable(Int64)) AS "value"
FROM (
  SELECT
    "t3"."unit" AS "unit",
    "t3"."times" AS "times",
    "t4"."new" AS "place",
    "t10"."total" AS "total",
    "t10"."weight" AS "weight"
  FROM "fim_held" AS "t3"
  INNER JOIN "fim_places" AS "t4"
    ON "t3"."place" = "t4"."place"
  INNER JOIN (
    SELECT
      "t8"."unit" AS "unit",
      "t8"."total" AS "total",
      "t5"."weight" AS "weight"
    FROM (
      SELECT
        "t6"."unit" AS "unit",
        COUNT(*) AS "total"
      FROM (
        SELECT
          "t3"."unit" AS "unit",
          "t3"."times" AS "times",
          "t4"."new" AS "place"
        FROM "fim_held" AS "t3"
        INNER JOIN "fim_places" AS "t4"
          ON "t3"."place" = "t4"."place"
      ) AS "t6"
      GROUP BY
        "t6"."unit"
    ) AS "t8"
    INNER JOIN "fim_weights" AS "t5"
      ON "t8"."total" = "t5"."total"
  ) AS "t10"
    ON "t3"."unit" = "t10"."unit"
) AS "t11"
GROUP BY
  "t11"."place";

-- fim_candidates is uploaded: i2, place, pair

CREATE TEMPORARY TABLE fim_held AS
SELECT
  *
FROM (
  SELECT
    "t3"."place" AS "place",
    "t16"."times" AS "times",
    "t16"."unit" AS "unit"
  FROM (
    SELECT
      "t12"."unit" AS "unit",
      "t12"."basket" AS "basket",
      "t12"."place" AS "pair",
      "t12"."times" AS "times"
    FROM (
      SELECT
        "t11"."unit" AS "unit",
        "t11"."basket" AS "basket",
        "t11"."pairs_before" + "t4"."item" AS "place",
        LEAST("t11"."times", "t4"."times") AS "times"
      FROM (
        SELECT
          "t1"."unit" AS "unit",
          "t1"."item" AS "item",
          "t1"."times" AS "times",
          "t1"."basket" AS "basket",
          CAST((
            CAST("t1"."item" AS Nullable(Int64)) * (
              CAST("t1"."item" AS Nullable(Int64)) - 1
            )
          ) / 2 AS Nullable(Int64)) AS "pairs_before"
        FROM "fim_rows" AS "t1"
      ) AS "t11"
      INNER JOIN "fim_rows" AS "t4"
        ON "t11"."basket" = "t4"."basket" AND "t11"."item" > "t4"."item"
    ) AS "t12"
  ) AS "t16"
  INNER JOIN "fim_candidates" AS "t3"
    ON "t16"."pair" = "t3"."pair"
) AS "t18"
UNION ALL
SELECT
  *
FROM (
  SELECT
    "t21"."place" AS "place",
    "t21"."times" AS "times",
    "t21"."unit" AS "unit"
  FROM (
    SELECT
      "t20".*
      EXCEPT ("more")
    FROM (
      SELECT
        "t19"."unit" AS "unit",
        "t19"."basket" AS "basket",
        "t19"."pair" AS "pair",
        LEAST("t19"."times", "t19"."more") AS "times",
        "t19"."i2" AS "i2",
        "t19"."place" AS "place",
        "t19"."more" AS "more"
      FROM (
        SELECT
          "t17"."unit" AS "unit",
          "t17"."basket" AS "basket",
          "t17"."pair" AS "pair",
          "t17"."times" AS "times",
          "t7"."i2" AS "i2",
          "t7"."place" AS "place",
          "t9"."more" AS "more"
        FROM (
          SELECT
            "t13"."unit" AS "unit",
            "t13"."basket" AS "basket",
            "t13"."place" AS "pair",
            "t13"."times" AS "times"
          FROM (
            SELECT
              "t11"."unit" AS "unit",
              "t11"."basket" AS "basket",
              "t11"."pairs_before" + "t6"."item" AS "place",
              LEAST("t11"."times", "t6"."times") AS "times"
            FROM (
              SELECT
                "t1"."unit" AS "unit",
                "t1"."item" AS "item",
                "t1"."times" AS "times",
                "t1"."basket" AS "basket",
                CAST((
                  CAST("t1"."item" AS Nullable(Int64)) * (
                    CAST("t1"."item" AS Nullable(Int64)) - 1
                  )
                ) / 2 AS Nullable(Int64)) AS "pairs_before"
              FROM "fim_rows" AS "t1"
            ) AS "t11"
            INNER JOIN "fim_rows" AS "t6"
              ON "t11"."basket" = "t6"."basket" AND "t11"."item" > "t6"."item"
          ) AS "t13"
        ) AS "t17"
        INNER JOIN "fim_candidates" AS "t7"
          ON "t17"."pair" = "t7"."pair"
        INNER JOIN (
          SELECT
            "t5"."basket" AS "basket",
            "t5"."times" AS "more",
            "t5"."item" AS "i2"
          FROM "fim_rows" AS "t5"
        ) AS "t9"
          ON "t17"."basket" = "t9"."basket" AND "t7"."i2" = "t9"."i2"
      ) AS "t19"
    ) AS "t20"
  ) AS "t21"
) AS "t22";

CREATE TEMPORARY TABLE fim_recoded AS
SELECT DISTINCT
  *
FROM (
  SELECT
    "t4"."unit" AS "unit",
    "t4"."basket" AS "basket",
    "t2"."code" AS "item"
  FROM (
    SELECT
      "t0"."unit" AS "unit",
      "t0"."basket" AS "basket",
      "t0"."item" AS "item"
    FROM "fim_long" AS "t0"
    WHERE
      "t0"."part" = 0
  ) AS "t4"
  INNER JOIN "fim_codes" AS "t2"
    ON "t4"."item" = "t2"."item"
) AS "t5";

SELECT
  "t1"."place" AS "place",
  SUM("t1"."weight") AS "value"
FROM (
  SELECT
    "t0"."unit" AS "unit",
    "t0"."item" AS "place",
    1 AS "weight"
  FROM "fim_times" AS "t0"
) AS "t1"
GROUP BY
  "t1"."place";

-- fim_codes is uploaded: item, code

CREATE TEMPORARY TABLE fim_recoded AS
SELECT
  "t2"."unit" AS "unit",
  "t2"."basket" AS "basket",
  "t3"."code" AS "item"
FROM "fim_recoded" AS "t2"
INNER JOIN "fim_codes" AS "t3"
  ON "t2"."item" = "t3"."item";

-- fim_items is uploaded: item

CREATE TEMPORARY TABLE fim_times AS
SELECT
  "t0"."unit" AS "unit",
  "t0"."item" AS "item",
  COUNT(*) AS "times"
FROM "fim_recoded" AS "t0"
GROUP BY
  "t0"."unit",
  "t0"."item";

CREATE TEMPORARY TABLE fim_rows AS
SELECT
  "t4"."unit" AS "unit",
  "t4"."item" AS "item",
  "t4"."times" AS "times",
  "t4"."basket" AS "basket"
FROM (
  SELECT
    "t0"."unit" AS "unit",
    "t0"."item" AS "item",
    "t0"."times" AS "times",
    "t0"."unit" AS "basket"
  FROM "fim_times" AS "t0"
) AS "t4"
LEFT SEMI JOIN "fim_items" AS "t2"
  ON "t4"."item" = "t2"."item";

-- fim_candidates is uploaded: place, pair

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t2"."place" AS "place",
  "t8"."times" AS "times",
  "t8"."unit" AS "unit"
FROM (
  SELECT
    "t6"."unit" AS "unit",
    "t6"."basket" AS "basket",
    "t6"."place" AS "pair",
    "t6"."times" AS "times"
  FROM (
    SELECT
      "t5"."unit" AS "unit",
      "t5"."basket" AS "basket",
      "t5"."pairs_before" + "t3"."item" AS "place",
      LEAST("t5"."times", "t3"."times") AS "times"
    FROM (
      SELECT
        "t1"."unit" AS "unit",
        "t1"."item" AS "item",
        "t1"."times" AS "times",
        "t1"."basket" AS "basket",
        CAST((
          CAST("t1"."item" AS Nullable(Int64)) * (
            CAST("t1"."item" AS Nullable(Int64)) - 1
          )
        ) / 2 AS Nullable(Int64)) AS "pairs_before"
      FROM "fim_rows" AS "t1"
    ) AS "t5"
    INNER JOIN "fim_rows" AS "t3"
      ON "t5"."basket" = "t3"."basket" AND "t5"."item" > "t3"."item"
  ) AS "t6"
) AS "t8"
INNER JOIN "fim_candidates" AS "t2"
  ON "t8"."pair" = "t2"."pair";

-- fim_places is uploaded: place, new

SELECT
  "t5"."place" AS "place",
  SUM("t5"."weight") AS "value"
FROM (
  SELECT
    "t4"."unit" AS "unit",
    "t4"."times" AS "times",
    "t4"."place" AS "place",
    1 AS "weight"
  FROM (
    SELECT
      "t2"."unit" AS "unit",
      "t2"."times" AS "times",
      "t3"."new" AS "place"
    FROM "fim_held" AS "t2"
    INNER JOIN "fim_places" AS "t3"
      ON "t2"."place" = "t3"."place"
  ) AS "t4"
) AS "t5"
GROUP BY
  "t5"."place";

