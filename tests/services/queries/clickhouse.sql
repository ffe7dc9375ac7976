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

CREATE TEMPORARY TABLE fim_baskets AS
SELECT DISTINCT
  "t10"."unit" AS "unit",
  "t10"."basket" AS "basket",
  "t10"."part" AS "part"
FROM (
  SELECT
    "t6"."key0" AS "key0",
    "t6"."key1" AS "key1",
    "t6"."key_user" AS "key_user",
    "t6"."key_nobody" AS "key_nobody",
    "t6"."day" AS "day",
    "t6"."part" AS "part",
    "t6"."read" AS "read",
    "t6"."i0" AS "i0",
    "t9"."basket" AS "basket",
    "t9"."unit" AS "unit"
  FROM (
    SELECT
      *
    FROM "fim_rows" AS "t0"
    WHERE
      "t0"."read"
  ) AS "t6"
  INNER JOIN (
    SELECT
      "t7"."key0" AS "key0",
      "t7"."key1" AS "key1",
      "t7"."key_user" AS "key_user",
      "t7"."key_nobody" AS "key_nobody",
      "t7"."basket" AS "basket",
      CASE WHEN "t7"."key_nobody" THEN -1 - "t7"."basket" ELSE "t7"."unit" END AS "unit"
    FROM (
      SELECT
        "t3"."key0" AS "key0",
        "t3"."key1" AS "key1",
        "t3"."key_user" AS "key_user",
        "t3"."key_nobody" AS "key_nobody",
        "t3"."day" AS "day",
        "t3"."place" AS "place",
        "t3"."basket" AS "basket",
        "t4"."key_user" AS "key_user_right",
        "t4"."unit" AS "unit"
      FROM "fim_named" AS "t3"
      LEFT OUTER JOIN "fim_users" AS "t4"
        ON "t3"."key_user" = "t4"."key_user"
    ) AS "t7"
  ) AS "t9"
    ON "t6"."key0" = "t9"."key0"
    AND "t6"."key1" = "t9"."key1"
    AND "t6"."key_user" = "t9"."key_user"
    AND "t6"."key_nobody" = "t9"."key_nobody"
) AS "t10";

CREATE TEMPORARY TABLE fim_entries AS
SELECT DISTINCT
  "t12"."unit" AS "unit",
  "t12"."basket" AS "basket",
  "t12"."part" AS "part",
  "t12"."item" AS "item"
FROM (
  SELECT
    "t8"."key0" AS "key0",
    "t8"."key1" AS "key1",
    "t8"."key_user" AS "key_user",
    "t8"."key_nobody" AS "key_nobody",
    "t8"."day" AS "day",
    "t8"."part" AS "part",
    "t8"."read" AS "read",
    "t8"."i0" AS "i0",
    "t4"."item" AS "item",
    "t11"."basket" AS "basket",
    "t11"."unit" AS "unit"
  FROM (
    SELECT
      *
    FROM "fim_rows" AS "t0"
    WHERE
      "t0"."read"
  ) AS "t8"
  INNER JOIN "fim_items" AS "t4"
    ON "t8"."i0" = "t4"."i0"
  INNER JOIN (
    SELECT
      "t9"."key0" AS "key0",
      "t9"."key1" AS "key1",
      "t9"."key_user" AS "key_user",
      "t9"."key_nobody" AS "key_nobody",
      "t9"."basket" AS "basket",
      CASE WHEN "t9"."key_nobody" THEN -1 - "t9"."basket" ELSE "t9"."unit" END AS "unit"
    FROM (
      SELECT
        "t5"."key0" AS "key0",
        "t5"."key1" AS "key1",
        "t5"."key_user" AS "key_user",
        "t5"."key_nobody" AS "key_nobody",
        "t5"."day" AS "day",
        "t5"."place" AS "place",
        "t5"."basket" AS "basket",
        "t6"."key_user" AS "key_user_right",
        "t6"."unit" AS "unit"
      FROM "fim_named" AS "t5"
      LEFT OUTER JOIN "fim_users" AS "t6"
        ON "t5"."key_user" = "t6"."key_user"
    ) AS "t9"
  ) AS "t11"
    ON "t8"."key0" = "t11"."key0"
    AND "t8"."key1" = "t11"."key1"
    AND "t8"."key_user" = "t11"."key_user"
    AND "t8"."key_nobody" = "t11"."key_nobody"
) AS "t12";

SELECT
  "t0"."part" AS "place",
  uniq("t0"."unit") AS "value"
FROM "fim_baskets" AS "t0"
GROUP BY
  "t0"."part";

CREATE TEMPORARY TABLE fim_long AS
SELECT
  "t2".*
  EXCEPT ("items")
FROM (
  SELECT
    *
  FROM (
    SELECT
      "t0"."unit" AS "unit",
      "t0"."basket" AS "basket",
      "t0"."part" AS "part",
      "t0"."item" AS "item",
      COUNT(*) OVER (
        PARTITION BY "t0"."basket", "t0"."part"
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS "items"
    FROM "fim_entries" AS "t0"
  ) AS "t1"
  WHERE
    "t1"."items" >= 2
) AS "t2";

CREATE TEMPORARY TABLE fim_held AS
WITH "t3" AS (
  SELECT
    "t2"."unit" AS "unit",
    "t2"."times" AS "times",
    "t2"."item" AS "place"
  FROM (
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
      "t1"."item"
  ) AS "t2"
)
SELECT
  *
FROM (
  SELECT
    "t5"."unit" AS "unit",
    "t5"."times" AS "times",
    "t5"."place" AS "place"
  FROM "t3" AS "t5"
  LEFT ANTI JOIN (
    SELECT
      *
    FROM (
      SELECT
        "t4"."unit" AS "unit",
        COUNT(*) AS "items"
      FROM "t3" AS "t4"
      GROUP BY
        "t4"."unit"
    ) AS "t6"
    WHERE
      "t6"."items" > 150
  ) AS "t8"
    ON "t5"."unit" = "t8"."unit"
) AS "t9"
UNION ALL
SELECT
  *
FROM (
  SELECT
    "t11"."unit" AS "unit",
    "t11"."times" AS "times",
    "t11"."place" AS "place"
  FROM (
    SELECT
      "t10"."unit" AS "unit",
      "t10"."times" AS "times",
      "t10"."place" AS "place",
      ROW_NUMBER() OVER (
        PARTITION BY "t10"."unit"
        ORDER BY "t10"."times" DESC, "t10"."place" ASC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) - 1 AS "order"
    FROM (
      SELECT
        "t5"."unit" AS "unit",
        "t5"."times" AS "times",
        "t5"."place" AS "place"
      FROM "t3" AS "t5"
      LEFT SEMI JOIN (
        SELECT
          *
        FROM (
          SELECT
            "t4"."unit" AS "unit",
            COUNT(*) AS "items"
          FROM "t3" AS "t4"
          GROUP BY
            "t4"."unit"
        ) AS "t6"
        WHERE
          "t6"."items" > 150
      ) AS "t8"
        ON "t5"."unit" = "t8"."unit"
    ) AS "t10"
  ) AS "t11"
  WHERE
    "t11"."order" < 150
) AS "t12";

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

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t0"."unit" AS "unit",
  "t0"."times" AS "times",
  "t0"."pair" AS "place"
FROM "fim_pairs" AS "t0";

SELECT
  "t6"."place" AS "place",
  SUM("t6"."weight") AS "value"
FROM (
  SELECT
    "t2"."unit" AS "unit",
    "t2"."times" AS "times",
    "t2"."place" AS "place",
    "t5"."total" AS "total",
    "t3"."weight" AS "weight"
  FROM "fim_held" AS "t2"
  INNER JOIN (
    SELECT
      "t0"."unit" AS "unit",
      SUM("t0"."times") AS "total"
    FROM "fim_held" AS "t0"
    GROUP BY
      "t0"."unit"
  ) AS "t5"
    ON "t2"."unit" = "t5"."unit"
  INNER JOIN "fim_weights" AS "t3"
    ON "t2"."times" = "t3"."times" AND "t5"."total" = "t3"."total"
) AS "t6"
GROUP BY
  "t6"."place";

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t12"."unit" AS "unit",
  "t12"."place" AS "place",
  "t12"."times" AS "times"
FROM (
  SELECT
    "t11".*
    EXCEPT ("more")
  FROM (
    SELECT
      "t10"."unit" AS "unit",
      "t10"."basket" AS "basket",
      "t10"."pair" AS "pair",
      LEAST("t10"."times", "t10"."more") AS "times",
      "t10"."i2" AS "i2",
      "t10"."place" AS "place",
      "t10"."more" AS "more"
    FROM (
      SELECT
        "t3"."unit" AS "unit",
        "t3"."basket" AS "basket",
        "t3"."pair" AS "pair",
        "t3"."times" AS "times",
        "t4"."i2" AS "i2",
        "t4"."place" AS "place",
        "t9"."more" AS "more"
      FROM "fim_pairs" AS "t3"
      INNER JOIN "fim_candidates" AS "t4"
        ON "t3"."pair" = "t4"."pair"
      INNER JOIN (
        SELECT
          "t7"."basket" AS "basket",
          "t7"."times" AS "more",
          "t7"."item" AS "i2"
        FROM (
          SELECT
            "t5"."unit" AS "unit",
            "t5"."item" AS "item",
            "t5"."times" AS "times",
            "t5"."unit" AS "basket"
          FROM (
            SELECT
              "t2"."unit" AS "unit",
              "t2"."item" AS "item",
              COUNT(*) AS "times"
            FROM "fim_recoded" AS "t2"
            GROUP BY
              "t2"."unit",
              "t2"."item"
          ) AS "t5"
        ) AS "t7"
      ) AS "t9"
        ON "t3"."basket" = "t9"."basket" AND "t4"."i2" = "t9"."i2"
    ) AS "t10"
  ) AS "t11"
) AS "t12";

SELECT
  "t18"."number" AS "place",
  COUNT(*) AS "value"
FROM (
  SELECT
    "t17"."unit" AS "unit",
    COUNT(*) AS "number"
  FROM (
    SELECT
      *
    FROM (
      SELECT
        "t4"."unit" AS "unit",
        "t5"."place" AS "place",
        "t4"."times" AS "times"
      FROM "fim_pairs" AS "t4"
      INNER JOIN "fim_candidates" AS "t5"
        ON "t4"."pair" = "t5"."pair"
    ) AS "t9"
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        "t15"."unit" AS "unit",
        "t15"."place" AS "place",
        "t15"."times" AS "times"
      FROM (
        SELECT
          "t14".*
          EXCEPT ("more")
        FROM (
          SELECT
            "t13"."unit" AS "unit",
            "t13"."basket" AS "basket",
            "t13"."pair" AS "pair",
            LEAST("t13"."times", "t13"."more") AS "times",
            "t13"."i2" AS "i2",
            "t13"."place" AS "place",
            "t13"."more" AS "more"
          FROM (
            SELECT
              "t4"."unit" AS "unit",
              "t4"."basket" AS "basket",
              "t4"."pair" AS "pair",
              "t4"."times" AS "times",
              "t6"."i2" AS "i2",
              "t6"."place" AS "place",
              "t12"."more" AS "more"
            FROM "fim_pairs" AS "t4"
            INNER JOIN "fim_candidates" AS "t6"
              ON "t4"."pair" = "t6"."pair"
            INNER JOIN (
              SELECT
                "t10"."basket" AS "basket",
                "t10"."times" AS "more",
                "t10"."item" AS "i2"
              FROM (
                SELECT
                  "t7"."unit" AS "unit",
                  "t7"."item" AS "item",
                  "t7"."times" AS "times",
                  "t7"."unit" AS "basket"
                FROM (
                  SELECT
                    "t3"."unit" AS "unit",
                    "t3"."item" AS "item",
                    COUNT(*) AS "times"
                  FROM "fim_recoded" AS "t3"
                  GROUP BY
                    "t3"."unit",
                    "t3"."item"
                ) AS "t7"
              ) AS "t10"
            ) AS "t12"
              ON "t4"."basket" = "t12"."basket" AND "t6"."i2" = "t12"."i2"
          ) AS "t13"
        ) AS "t14"
      ) AS "t15"
    ) AS "t16"
  ) AS "t17"
  GROUP BY
    "t17"."unit"
) AS "t18"
GROUP BY
  "t18"."number";

-- fim_candidates is uploaded: pair, i2, place

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t17"."unit" AS "unit",
  "t17"."place" AS "place",
  1 AS "times"
FROM (
  SELECT
    *
  FROM (
    SELECT
      "t4"."unit" AS "unit",
      "t5"."place" AS "place",
      "t4"."times" AS "times"
    FROM "fim_pairs" AS "t4"
    INNER JOIN "fim_candidates" AS "t5"
      ON "t4"."pair" = "t5"."pair"
  ) AS "t9"
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      "t15"."unit" AS "unit",
      "t15"."place" AS "place",
      "t15"."times" AS "times"
    FROM (
      SELECT
        "t14".*
        EXCEPT ("more")
      FROM (
        SELECT
          "t13"."unit" AS "unit",
          "t13"."basket" AS "basket",
          "t13"."pair" AS "pair",
          LEAST("t13"."times", "t13"."more") AS "times",
          "t13"."i2" AS "i2",
          "t13"."place" AS "place",
          "t13"."more" AS "more"
        FROM (
          SELECT
            "t4"."unit" AS "unit",
            "t4"."basket" AS "basket",
            "t4"."pair" AS "pair",
            "t4"."times" AS "times",
            "t6"."i2" AS "i2",
            "t6"."place" AS "place",
            "t12"."more" AS "more"
          FROM "fim_pairs" AS "t4"
          INNER JOIN "fim_candidates" AS "t6"
            ON "t4"."pair" = "t6"."pair"
          INNER JOIN (
            SELECT
              "t10"."basket" AS "basket",
              "t10"."times" AS "more",
              "t10"."item" AS "i2"
            FROM (
              SELECT
                "t7"."unit" AS "unit",
                "t7"."item" AS "item",
                "t7"."times" AS "times",
                "t7"."unit" AS "basket"
              FROM (
                SELECT
                  "t3"."unit" AS "unit",
                  "t3"."item" AS "item",
                  COUNT(*) AS "times"
                FROM "fim_recoded" AS "t3"
                GROUP BY
                  "t3"."unit",
                  "t3"."item"
              ) AS "t7"
            ) AS "t10"
          ) AS "t12"
            ON "t4"."basket" = "t12"."basket" AND "t6"."i2" = "t12"."i2"
        ) AS "t13"
      ) AS "t14"
    ) AS "t15"
  ) AS "t16"
) AS "t17";

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

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t3"."unit" AS "unit",
  "t3"."item" AS "place",
  1 AS "times"
FROM (
  SELECT
    "t2"."unit" AS "unit",
    "t2"."item" AS "item",
    COUNT(*) AS "times"
  FROM (
    SELECT
      "t1"."unit" AS "unit",
      "t1"."basket" AS "basket",
      "t1"."item" AS "item"
    FROM (
      SELECT
        "t0"."unit" AS "unit",
        "t0"."basket" AS "basket",
        "t0"."item" AS "item",
        DENSE_RANK() OVER (
          PARTITION BY "t0"."unit"
          ORDER BY "t0"."item" ASC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) - 1 AS "place"
      FROM "fim_recoded" AS "t0"
    ) AS "t1"
    WHERE
      "t1"."place" < 10
  ) AS "t2"
  GROUP BY
    "t2"."unit",
    "t2"."item"
) AS "t3";

-- fim_codes is uploaded: item, code

CREATE TEMPORARY TABLE fim_recoded AS
SELECT
  "t2"."unit" AS "unit",
  "t2"."basket" AS "basket",
  "t3"."code" AS "item"
FROM "fim_recoded" AS "t2"
INNER JOIN "fim_codes" AS "t3"
  ON "t2"."item" = "t3"."item";

-- fim_candidates is uploaded: pair, place

CREATE TEMPORARY TABLE fim_pairs AS
WITH "t2" AS (
  SELECT
    "t1"."unit" AS "unit",
    "t1"."item" AS "item",
    "t1"."times" AS "times",
    "t1"."unit" AS "basket"
  FROM (
    SELECT
      "t0"."unit" AS "unit",
      "t0"."item" AS "item",
      COUNT(*) AS "times"
    FROM "fim_recoded" AS "t0"
    GROUP BY
      "t0"."unit",
      "t0"."item"
  ) AS "t1"
)
SELECT
  "t4"."unit" AS "unit",
  "t4"."basket" AS "basket",
  (
    "t5"."item" * 10
  ) + "t4"."item" AS "pair",
  LEAST("t4"."times", "t5"."times") AS "times"
FROM "t2" AS "t4"
INNER JOIN "t2" AS "t5"
  ON "t4"."basket" = "t5"."basket" AND "t4"."item" < "t5"."item";

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t4"."unit" AS "unit",
  "t4"."place" AS "place",
  1 AS "times"
FROM (
  SELECT
    "t2"."unit" AS "unit",
    "t3"."place" AS "place",
    "t2"."times" AS "times"
  FROM "fim_pairs" AS "t2"
  INNER JOIN "fim_candidates" AS "t3"
    ON "t2"."pair" = "t3"."pair"
) AS "t4";

SELECT DISTINCT
  *
FROM (
  SELECT
    "t1"."times" AS "times",
    "t3"."total" AS "total"
  FROM "fim_held" AS "t1"
  INNER JOIN (
    SELECT
      "t0"."unit" AS "unit",
      SUM("t0"."times") AS "total"
    FROM "fim_held" AS "t0"
    GROUP BY
      "t0"."unit"
  ) AS "t3"
    ON "t1"."unit" = "t3"."unit"
) AS "t4";

-- fim_weights is uploaded: times, total, weight

SELECT
  "t6"."place" AS "place",
  SUM("t6"."weight") AS "value"
FROM (
  SELECT
    "t2"."unit" AS "unit",
    "t2"."place" AS "place",
    "t2"."times" AS "times",
    "t5"."total" AS "total",
    "t3"."weight" AS "weight"
  FROM "fim_held" AS "t2"
  INNER JOIN (
    SELECT
      "t0"."unit" AS "unit",
      SUM("t0"."times") AS "total"
    FROM "fim_held" AS "t0"
    GROUP BY
      "t0"."unit"
  ) AS "t5"
    ON "t2"."unit" = "t5"."unit"
  INNER JOIN "fim_weights" AS "t3"
    ON "t2"."times" = "t3"."times" AND "t5"."total" = "t3"."total"
) AS "t6"
GROUP BY
  "t6"."place";

