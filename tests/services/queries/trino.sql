CREATE TEMPORARY TABLE fim_rows AS
SELECT
  *
FROM (
  SELECT
    COALESCE(
      NULLIF(
        REGEXP_EXTRACT(
          "t0"."store",
          '^[	
    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[	
    -     　]*$',
          1
        ),
        ''
      ),
      NULLIF(
        REGEXP_REPLACE(
          "t0"."store",
          '^[	
    -     　]*(#N/A|#N/A N/A|#NA|-1[.]#IND|-1[.]#QNAN|-NaN|-nan|1[.]#IND|1[.]#QNAN|<NA>|N/A|NA|NULL|NaN|None|[\\]N|n/a|nan|null)?[	
    -     　]*$|^[	
    -     　]+|[	
    -     　]+$',
          ''
        ),
        ''
      )
    ) AS "key0",
    "t0"."visit" AS "key1",
    COALESCE(
      COALESCE(
        NULLIF(
          REGEXP_EXTRACT(
            "t0"."customer",
            '^[	
    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[	
    -     　]*$',
            1
          ),
          ''
        ),
        NULLIF(
          REGEXP_REPLACE(
            "t0"."customer",
            '^[	
    -     　]*(#N/A|#N/A N/A|#NA|-1[.]#IND|-1[.]#QNAN|-NaN|-nan|1[.]#IND|1[.]#QNAN|<NA>|N/A|NA|NULL|NaN|None|[\\]N|n/a|nan|null)?[	
    -     　]*$|^[	
    -     　]+|[	
    -     　]+$',
            ''
          ),
          ''
        )
      ),
      ''
    ) AS "key_user",
    COALESCE(
      NULLIF(
        REGEXP_EXTRACT(
          "t0"."customer",
          '^[	
    -     　]*(0|-?[1-9][0-9]{0,17})[.]0+[	
    -     　]*$',
          1
        ),
        ''
      ),
      NULLIF(
        REGEXP_REPLACE(
          "t0"."customer",
          '^[	
    -     　]*(#N/A|#N/A N/A|#NA|-1[.]#IND|-1[.]#QNAN|-NaN|-nan|1[.]#IND|1[.]#QNAN|<NA>|N/A|NA|NULL|NaN|None|[\\]N|n/a|nan|null)?[	
    -     　]*$|^[	
    -     　]+|[	
    -     　]+$',
          ''
        ),
        ''
      )
    ) IS NULL AS "key_nobody",
    DATE(AT_TIMEZONE("t0"."day", 'UTC')) AS "day",
    0 AS "part",
    COALESCE(
      (
        IF(IS_NAN("t0"."price"), NULL, "t0"."price") < CAST(2.5 AS DOUBLE)
      )
      AND NOT (
        NULLIF(
          REGEXP_REPLACE(
            "t0"."store",
            '^[	
    -     　]*(#N/A|#N/A N/A|#NA|-1[.]#IND|-1[.]#QNAN|-NaN|-nan|1[.]#IND|1[.]#QNAN|<NA>|N/A|NA|NULL|NaN|None|[\\]N|n/a|nan|null)?[	
    -     　]*$|^[	
    -     　]+|[	
    -     　]+$',
            ''
          ),
          ''
        ) IS NULL
      )
      AND (
        "t0"."day" >= CAST(FROM_ISO8601_TIMESTAMP('2026-02-10T00:00:00+00:00') AS TIMESTAMP WITH TIME ZONE)
      ),
      FALSE
    ) AS "read",
    "t0"."product" AS "i0"
  FROM "sales" AS "t0"
) AS "t1"
WHERE
  "t1"."key0" IS NOT NULL AND "t1"."key1" IS NOT NULL AND "t1"."day" IS NOT NULL;

SELECT DISTINCT
  "t0"."i0"
FROM "fim_rows" AS "t0"
WHERE
  "t0"."read";

-- fim_items is uploaded: i0, item

CREATE TEMPORARY TABLE fim_named AS
SELECT
  "t2"."key0",
  "t2"."key1",
  "t2"."key_user",
  "t2"."key_nobody",
  "t2"."day",
  "t2"."place",
  ROW_NUMBER() OVER (ORDER BY CAST(NULL AS BIGINT) ASC) - 1 AS "basket"
FROM (
  SELECT
    "t1"."key0",
    "t1"."key1",
    "t1"."key_user",
    "t1"."key_nobody",
    "t1"."day",
    CAST(CASE
      WHEN "t1"."day" BETWEEN FROM_ISO8601_DATE('2026-02-01') AND FROM_ISO8601_DATE('2026-02-28')
      THEN 0
      ELSE -1
    END AS INTEGER) AS "place"
  FROM (
    SELECT
      "t0"."key0",
      "t0"."key1",
      "t0"."key_user",
      "t0"."key_nobody",
      MIN("t0"."day") AS "day"
    FROM "fim_rows" AS "t0"
    GROUP BY
      1,
      2,
      3,
      4
  ) AS "t1"
  WHERE
    CAST(CASE
      WHEN "t1"."day" BETWEEN FROM_ISO8601_DATE('2026-02-01') AND FROM_ISO8601_DATE('2026-02-28')
      THEN 0
      ELSE -1
    END AS INTEGER) >= 0
) AS "t2";

CREATE TEMPORARY TABLE fim_users AS
SELECT
  "t1"."key_user",
  ROW_NUMBER() OVER (ORDER BY CAST(NULL AS BIGINT) ASC) - 1 AS "unit"
FROM (
  SELECT DISTINCT
    "t0"."key_user"
  FROM "fim_named" AS "t0"
  WHERE
    NOT (
      "t0"."key_nobody"
    )
) AS "t1";

SELECT
  "t10"."part" AS "place",
  COUNT(DISTINCT "t10"."unit") AS "value"
FROM (
  SELECT
    "t9"."unit",
    "t9"."basket",
    "t9"."i0",
    "t9"."part"
  FROM (
    SELECT
      "t3"."key0",
      "t3"."key1",
      "t3"."key_user",
      "t3"."key_nobody",
      "t3"."day",
      "t3"."part",
      "t3"."read",
      "t3"."i0",
      "t8"."basket",
      "t8"."unit"
    FROM "fim_rows" AS "t3"
    INNER JOIN (
      SELECT
        "t6"."key0",
        "t6"."key1",
        "t6"."key_user",
        "t6"."key_nobody",
        "t6"."basket",
        IF("t6"."key_nobody", -1 - "t6"."basket", "t6"."unit") AS "unit"
      FROM (
        SELECT
          "t4"."key0",
          "t4"."key1",
          "t4"."key_user",
          "t4"."key_nobody",
          "t4"."day",
          "t4"."place",
          "t4"."basket",
          "t5"."key_user" AS "key_user_right",
          "t5"."unit"
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
  1;

CREATE TEMPORARY TABLE fim_entries AS
SELECT DISTINCT
  "t14"."unit",
  "t14"."basket",
  "t14"."item"
FROM (
  SELECT
    "t13"."unit",
    "t13"."basket",
    "t13"."i0",
    "t4"."item"
  FROM (
    SELECT
      "t11"."unit",
      "t11"."basket",
      "t11"."i0"
    FROM (
      SELECT
        "t5"."key0",
        "t5"."key1",
        "t5"."key_user",
        "t5"."key_nobody",
        "t5"."day",
        "t5"."part",
        "t5"."read",
        "t5"."i0",
        "t10"."basket",
        "t10"."unit"
      FROM "fim_rows" AS "t5"
      INNER JOIN (
        SELECT
          "t8"."key0",
          "t8"."key1",
          "t8"."key_user",
          "t8"."key_nobody",
          "t8"."basket",
          IF("t8"."key_nobody", -1 - "t8"."basket", "t8"."unit") AS "unit"
        FROM (
          SELECT
            "t6"."key0",
            "t6"."key1",
            "t6"."key_user",
            "t6"."key_nobody",
            "t6"."day",
            "t6"."place",
            "t6"."basket",
            "t7"."key_user" AS "key_user_right",
            "t7"."unit"
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
  "t3"."unit",
  "t3"."basket",
  "t3"."item",
  "t3"."part"
FROM (
  SELECT
    *
  FROM (
    SELECT
      "t1"."unit",
      "t1"."basket",
      "t1"."item",
      "t1"."part",
      COUNT(*) OVER (
        PARTITION BY "t1"."basket", "t1"."part"
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) AS "items"
    FROM (
      SELECT
        "t0"."unit",
        "t0"."basket",
        "t0"."item",
        0 AS "part"
      FROM "fim_entries" AS "t0"
    ) AS "t1"
  ) AS "t2"
  WHERE
    "t2"."items" >= 2
) AS "t3";

CREATE TEMPORARY TABLE fim_times AS
SELECT
  "t1"."unit",
  "t1"."item",
  COUNT(*) AS "times"
FROM (
  SELECT
    "t0"."unit",
    "t0"."basket",
    "t0"."item"
  FROM "fim_long" AS "t0"
  WHERE
    "t0"."part" = 0
) AS "t1"
GROUP BY
  1,
  2;

CREATE TEMPORARY TABLE fim_totals AS
SELECT
  "t1"."unit",
  COUNT(*) AS "items",
  SUM("t1"."times") AS "total"
FROM (
  SELECT
    "t0"."unit",
    "t0"."item" AS "place",
    "t0"."times"
  FROM "fim_times" AS "t0"
) AS "t1"
GROUP BY
  1;

CREATE TEMPORARY TABLE fim_beyond AS
SELECT
  "t7"."unit",
  "t7"."place",
  "t7"."times"
FROM (
  SELECT
    "t6"."unit",
    "t6"."place",
    "t6"."times",
    ROW_NUMBER() OVER (PARTITION BY "t6"."unit" ORDER BY "t6"."times" DESC, "t6"."place" ASC) - 1 AS "order"
  FROM (
    SELECT
      "t3"."unit",
      "t3"."place",
      "t3"."times"
    FROM (
      SELECT
        "t0"."unit",
        "t0"."item" AS "place",
        "t0"."times"
      FROM "fim_times" AS "t0"
    ) AS "t3"
    WHERE
      EXISTS(
        SELECT
          1
        FROM (
          SELECT
            *
          FROM "fim_totals" AS "t1"
          WHERE
            "t1"."items" > 150
        ) AS "t5"
        WHERE
          "t3"."unit" = "t5"."unit"
      )
  ) AS "t6"
) AS "t7"
WHERE
  "t7"."order" >= 150;

SELECT
  "t13"."place",
  CAST(SUM("t13"."weight") AS BIGINT) AS "value"
FROM (
  SELECT
    "t12"."unit",
    "t12"."place",
    "t12"."times",
    "t12"."total",
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
    END AS DOUBLE) AS "weight"
  FROM (
    SELECT
      "t11"."unit",
      "t11"."place",
      "t11"."times",
      "t11"."total",
      "t11"."times" * 4294967296 AS "square",
      CAST(ROUND(SQRT(CAST((
        "t11"."times" * 4294967296
      ) AS DOUBLE) / "t11"."total"), 0) AS BIGINT) AS "root"
    FROM (
      SELECT
        "t6"."unit",
        "t6"."place",
        "t6"."times",
        "t10"."total"
      FROM (
        SELECT
          "t0"."unit",
          "t0"."item" AS "place",
          "t0"."times"
        FROM "fim_times" AS "t0"
      ) AS "t6"
      INNER JOIN (
        SELECT
          "t4"."unit",
          "t4"."total" - COALESCE("t8"."left_out", 0) AS "total"
        FROM "fim_totals" AS "t4"
        LEFT OUTER JOIN (
          SELECT
            "t1"."unit",
            SUM("t1"."times") AS "left_out"
          FROM "fim_beyond" AS "t1"
          GROUP BY
            1
        ) AS "t8"
          ON "t4"."unit" = "t8"."unit"
      ) AS "t10"
        ON "t6"."unit" = "t10"."unit"
      WHERE
        NOT EXISTS(
          SELECT
            1
          FROM "fim_beyond" AS "t3"
          WHERE
            "t6"."unit" = "t3"."unit" AND "t6"."place" = "t3"."place"
        )
    ) AS "t11"
  ) AS "t12"
) AS "t13"
GROUP BY
  1;

CREATE TEMPORARY TABLE fim_recoded AS
SELECT
  "t4"."unit",
  "t4"."basket",
  "t2"."code" AS "item"
FROM (
  SELECT
    "t0"."unit",
    "t0"."basket",
    "t0"."item"
  FROM "fim_long" AS "t0"
  WHERE
    "t0"."part" = 0
) AS "t4"
INNER JOIN "fim_codes" AS "t2"
  ON "t4"."item" = "t2"."item";

CREATE TEMPORARY TABLE fim_rows AS
WITH "t1" AS (
  SELECT
    "t0"."unit",
    "t0"."item",
    "t0"."times",
    "t0"."unit" AS "basket"
  FROM "fim_times" AS "t0"
)
SELECT
  "t3"."unit",
  "t3"."item",
  "t3"."times",
  "t3"."basket",
  "t7"."total"
FROM "t1" AS "t3"
INNER JOIN (
  SELECT
    *
  FROM (
    SELECT
      "t4"."unit",
      SUM("t4"."pairs") AS "total"
    FROM (
      SELECT
        "t2"."unit",
        "t2"."item",
        "t2"."times",
        "t2"."basket",
        "t2"."times" * (
          ROW_NUMBER() OVER (PARTITION BY "t2"."unit" ORDER BY "t2"."times" DESC) - 1
        ) AS "pairs"
      FROM "t1" AS "t2"
    ) AS "t4"
    GROUP BY
      1
  ) AS "t5"
  WHERE
    "t5"."total" > 0
) AS "t7"
  ON "t3"."unit" = "t7"."unit";

SELECT
  "t6"."place",
  CAST(SUM("t6"."weight") AS BIGINT) AS "value"
FROM (
  SELECT
    "t5"."unit",
    "t5"."basket",
    "t5"."total",
    "t5"."place",
    "t5"."times",
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
    END AS DOUBLE) AS "weight"
  FROM (
    SELECT
      "t4"."unit",
      "t4"."basket",
      "t4"."total",
      "t4"."place",
      "t4"."times",
      "t4"."times" * 4294967296 AS "square",
      CAST(ROUND(SQRT(CAST((
        "t4"."times" * 4294967296
      ) AS DOUBLE) / "t4"."total"), 0) AS BIGINT) AS "root"
    FROM (
      SELECT
        "t3"."unit",
        "t3"."basket",
        "t3"."total",
        "t3"."pairs_before" + "t1"."item" AS "place",
        LEAST("t3"."times", "t1"."times") AS "times"
      FROM (
        SELECT
          "t0"."unit",
          "t0"."item",
          "t0"."times",
          "t0"."basket",
          "t0"."total",
          CAST(CAST((
            CAST("t0"."item" AS BIGINT) * (
              CAST("t0"."item" AS BIGINT) - 1
            )
          ) AS DOUBLE) / 2 AS BIGINT) AS "pairs_before"
        FROM "fim_rows" AS "t0"
      ) AS "t3"
      INNER JOIN "fim_rows" AS "t1"
        ON "t3"."basket" = "t1"."basket" AND "t3"."item" > "t1"."item"
    ) AS "t4"
  ) AS "t5"
) AS "t6"
GROUP BY
  1;

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t14"."place",
  "t14"."times",
  "t14"."unit"
FROM (
  SELECT
    "t13"."unit",
    "t13"."basket",
    "t13"."pair",
    "t13"."times",
    "t13"."i2",
    "t13"."place"
  FROM (
    SELECT
      "t12"."unit",
      "t12"."basket",
      "t12"."pair",
      LEAST("t12"."times", "t12"."more") AS "times",
      "t12"."i2",
      "t12"."place",
      "t12"."more"
    FROM (
      SELECT
        "t11"."unit",
        "t11"."basket",
        "t11"."pair",
        "t11"."times",
        "t2"."i2",
        "t2"."place",
        "t6"."more"
      FROM (
        SELECT
          "t9"."unit",
          "t9"."basket",
          "t9"."place" AS "pair",
          "t9"."times"
        FROM (
          SELECT
            "t8"."unit",
            "t8"."basket",
            "t8"."pairs_before" + "t4"."item" AS "place",
            LEAST("t8"."times", "t4"."times") AS "times"
          FROM (
            SELECT
              "t1"."unit",
              "t1"."item",
              "t1"."times",
              "t1"."basket",
              CAST(CAST((
                CAST("t1"."item" AS BIGINT) * (
                  CAST("t1"."item" AS BIGINT) - 1
                )
              ) AS DOUBLE) / 2 AS BIGINT) AS "pairs_before"
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
          "t3"."basket",
          "t3"."times" AS "more",
          "t3"."item" AS "i2"
        FROM "fim_rows" AS "t3"
      ) AS "t6"
        ON "t11"."basket" = "t6"."basket" AND "t2"."i2" = "t6"."i2"
    ) AS "t12"
  ) AS "t13"
) AS "t14";

SELECT
  "t9"."place",
  CAST(SUM("t9"."weight") AS BIGINT) AS "value"
FROM (
  SELECT
    "t8"."unit",
    "t8"."times",
    "t8"."place",
    "t8"."total",
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
    END AS DOUBLE) AS "weight"
  FROM (
    SELECT
      "t7"."unit",
      "t7"."times",
      "t7"."place",
      "t7"."total",
      "t7"."times" * 4294967296 AS "square",
      CAST(ROUND(SQRT(CAST((
        "t7"."times" * 4294967296
      ) AS DOUBLE) / "t7"."total"), 0) AS BIGINT) AS "root"
    FROM (
      SELECT
        "t2"."unit",
        "t2"."times",
        "t3"."new" AS "place",
        "t6"."total"
      FROM "fim_held" AS "t2"
      INNER JOIN "fim_places" AS "t3"
        ON "t2"."place" = "t3"."place"
      INNER JOIN (
        SELECT
          "t4"."unit",
          SUM("t4"."times") AS "total"
        FROM (
          SELECT
            "t2"."unit",
            "t2"."times",
            "t3"."new" AS "place"
          FROM "fim_held" AS "t2"
          INNER JOIN "fim_places" AS "t3"
            ON "t2"."place" = "t3"."place"
        ) AS "t4"
        GROUP BY
          1
      ) AS "t6"
        ON "t2"."unit" = "t6"."unit"
    ) AS "t7"
  ) AS "t8"
) AS "t9"
GROUP BY
  1;

SELECT
  "t5"."number" AS "place",
  COUNT(*) AS "value"
FROM (
  SELECT
    "t4"."unit",
    COUNT(*) AS "number"
  FROM (
    SELECT
      "t2"."unit",
      "t2"."times",
      "t3"."new" AS "place"
    FROM "fim_held" AS "t2"
    INNER JOIN "fim_places" AS "t3"
      ON "t2"."place" = "t3"."place"
  ) AS "t4"
  GROUP BY
    1
) AS "t5"
GROUP BY
  1;

-- fim_weights is uploaded: total, weight

SELECT
  "t11"."place",
  CAST(SUM("t11"."weight") AS BIGINT) AS "value"
FROM (
  SELECT
    "t3"."unit",
    "t3"."times",
    "t4"."new" AS "place",
    "t10"."total",
    "t10"."weight"
  FROM "fim_held" AS "t3"
  INNER JOIN "fim_places" AS "t4"
    ON "t3"."place" = "t4"."place"
  INNER JOIN (
    SELECT
      "t8"."unit",
      "t8"."total",
      "t5"."weight"
    FROM (
      SELECT
        "t6"."unit",
        COUNT(*) AS "total"
      FROM (
        SELECT
          "t3"."unit",
          "t3"."times",
          "t4"."new" AS "place"
        FROM "fim_held" AS "t3"
        INNER JOIN "fim_places" AS "t4"
          ON "t3"."place" = "t4"."place"
      ) AS "t6"
      GROUP BY
        1
    ) AS "t8"
    INNER JOIN "fim_weights" AS "t5"
      ON "t8"."total" = "t5"."total"
  ) AS "t10"
    ON "t3"."unit" = "t10"."unit"
) AS "t11"
GROUP BY
  1;

-- fim_candidates is uploaded: i2, place, pair

CREATE TEMPORARY TABLE fim_held AS
SELECT
  *
FROM (
  SELECT
    "t3"."place",
    "t16"."times",
    "t16"."unit"
  FROM (
    SELECT
      "t12"."unit",
      "t12"."basket",
      "t12"."place" AS "pair",
      "t12"."times"
    FROM (
      SELECT
        "t11"."unit",
        "t11"."basket",
        "t11"."pairs_before" + "t4"."item" AS "place",
        LEAST("t11"."times", "t4"."times") AS "times"
      FROM (
        SELECT
          "t1"."unit",
          "t1"."item",
          "t1"."times",
          "t1"."basket",
          CAST(CAST((
            CAST("t1"."item" AS BIGINT) * (
              CAST("t1"."item" AS BIGINT) - 1
            )
          ) AS DOUBLE) / 2 AS BIGINT) AS "pairs_before"
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
    "t21"."place",
    "t21"."times",
    "t21"."unit"
  FROM (
    SELECT
      "t20"."unit",
      "t20"."basket",
      "t20"."pair",
      "t20"."times",
      "t20"."i2",
      "t20"."place"
    FROM (
      SELECT
        "t19"."unit",
        "t19"."basket",
        "t19"."pair",
        LEAST("t19"."times", "t19"."more") AS "times",
        "t19"."i2",
        "t19"."place",
        "t19"."more"
      FROM (
        SELECT
          "t17"."unit",
          "t17"."basket",
          "t17"."pair",
          "t17"."times",
          "t7"."i2",
          "t7"."place",
          "t9"."more"
        FROM (
          SELECT
            "t13"."unit",
            "t13"."basket",
            "t13"."place" AS "pair",
            "t13"."times"
          FROM (
            SELECT
              "t11"."unit",
              "t11"."basket",
              "t11"."pairs_before" + "t6"."item" AS "place",
              LEAST("t11"."times", "t6"."times") AS "times"
            FROM (
              SELECT
                "t1"."unit",
                "t1"."item",
                "t1"."times",
                "t1"."basket",
                CAST(CAST((
                  CAST("t1"."item" AS BIGINT) * (
                    CAST("t1"."item" AS BIGINT) - 1
                  )
                ) AS DOUBLE) / 2 AS BIGINT) AS "pairs_before"
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
            "t5"."basket",
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
    "t4"."unit",
    "t4"."basket",
    "t2"."code" AS "item"
  FROM (
    SELECT
      "t0"."unit",
      "t0"."basket",
      "t0"."item"
    FROM "fim_long" AS "t0"
    WHERE
      "t0"."part" = 0
  ) AS "t4"
  INNER JOIN "fim_codes" AS "t2"
    ON "t4"."item" = "t2"."item"
) AS "t5";

SELECT
  "t1"."place",
  SUM("t1"."weight") AS "value"
FROM (
  SELECT
    "t0"."unit",
    "t0"."item" AS "place",
    1 AS "weight"
  FROM "fim_times" AS "t0"
) AS "t1"
GROUP BY
  1;

-- fim_codes is uploaded: item, code

CREATE TEMPORARY TABLE fim_recoded AS
SELECT
  "t2"."unit",
  "t2"."basket",
  "t3"."code" AS "item"
FROM "fim_recoded" AS "t2"
INNER JOIN "fim_codes" AS "t3"
  ON "t2"."item" = "t3"."item";

-- fim_items is uploaded: item

CREATE TEMPORARY TABLE fim_times AS
SELECT
  "t0"."unit",
  "t0"."item",
  COUNT(*) AS "times"
FROM "fim_recoded" AS "t0"
GROUP BY
  1,
  2;

CREATE TEMPORARY TABLE fim_rows AS
SELECT
  "t4"."unit",
  "t4"."item",
  "t4"."times",
  "t4"."basket"
FROM (
  SELECT
    "t0"."unit",
    "t0"."item",
    "t0"."times",
    "t0"."unit" AS "basket"
  FROM "fim_times" AS "t0"
) AS "t4"
WHERE
  EXISTS(
    SELECT
      1
    FROM "fim_items" AS "t2"
    WHERE
      "t4"."item" = "t2"."item"
  );

-- fim_candidates is uploaded: place, pair

CREATE TEMPORARY TABLE fim_held AS
SELECT
  "t2"."place",
  "t8"."times",
  "t8"."unit"
FROM (
  SELECT
    "t6"."unit",
    "t6"."basket",
    "t6"."place" AS "pair",
    "t6"."times"
  FROM (
    SELECT
      "t5"."unit",
      "t5"."basket",
      "t5"."pairs_before" + "t3"."item" AS "place",
      LEAST("t5"."times", "t3"."times") AS "times"
    FROM (
      SELECT
        "t1"."unit",
        "t1"."item",
        "t1"."times",
        "t1"."basket",
        CAST(CAST((
          CAST("t1"."item" AS BIGINT) * (
            CAST("t1"."item" AS BIGINT) - 1
          )
        ) AS DOUBLE) / 2 AS BIGINT) AS "pairs_before"
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
  "t5"."place",
  SUM("t5"."weight") AS "value"
FROM (
  SELECT
    "t4"."unit",
    "t4"."times",
    "t4"."place",
    1 AS "weight"
  FROM (
    SELECT
      "t2"."unit",
      "t2"."times",
      "t3"."new" AS "place"
    FROM "fim_held" AS "t2"
    INNER JOIN "fim_places" AS "t3"
      ON "t2"."place" = "t3"."place"
  ) AS "t4"
) AS "t5"
GROUP BY
  1;

