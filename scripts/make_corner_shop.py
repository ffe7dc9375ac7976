"""Make datasets/corner_shop.parquet: one made-up year of baskets from a made-up British corner
shop.

The model. Every draw comes from one generator with a fixed seed, so the same versions of Python,
numpy and pyarrow write the same bytes.

1. *Items.* A department has a share of the trade; inside it the item listed k-th has weight 1/k
   (Zipf). A few staples, bananas above all, sell beyond that, with anything.
2. *Customers.* A customer belongs to one kind of household, which prefers some departments and
   occasions. Each has habits, kept all year: two occasions and six favourite items.
3. *Visits.* A customer comes once plus a gamma-Poisson number of times, so that many come once and
   a few almost weekly. Visits fall anywhere in the year; seasonal goods and occasions mostly in
   their quarter.
4. *Baskets.* A basket has a log-normal target size. Until it is reached, the customer either thinks
   of an occasion (a pot of tea, a pasta supper), which brings each of its items with the stated
   chance, or picks one item. Either is a habit about half the time. Occasions are the planted
   associations.

Nothing in the file comes from a real shop or person.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

SEED = 1999
CUSTOMERS = 20_000
YEAR = 2025
SEASONS = ("winter", "spring", "summer", "autumn")  # the quarters from January on
IN_SEASON, OUT_OF_SEASON = 3.0, 0.05  # factors on seasonal departments and occasions

HABIT_OCCASIONS, HABIT_ITEMS = 2, 6
OCCASION_CHANCE = 0.38  # a step of filling a basket is an occasion rather than a single item
OCCASION_HABIT, ITEM_HABIT = 0.6, 0.45  # the occasion, or the item, is one of the customer's own
VISIT_SHAPE = 0.6  # of the gamma distribution of visit rates: small is uneven
# of target sizes: standard deviation of the logarithm, and a cap
SIZE_SPREAD, LARGEST_TARGET = 0.8, 40


class Department(NamedTuple):
    """A department: share of the trade, items (most wanted first), and the season, if it has
    one.
    """

    share: float
    items: str
    season: str = ""


class Occasion(NamedTuple):
    """Things bought together: how often, each item with the chance that it is bought, and the
    season.
    """

    weight: float
    items: dict[str, float]
    season: str = ""


class Household(NamedTuple):
    """A kind of household: share of customers, visits after the first, basket size, preferences
    (factors).
    """

    share: float
    visits: float
    size: float
    departments: dict[str, float]
    occasions: dict[str, float]


# Trade in single items on top of the department's, on the same scale as the shares of the
# departments.
STAPLES = {"bananas": 13.0, "sliced white bread": 5.0, "carrier bag": 4.0, "free-range eggs": 2.0}

# fmt: off
DEPARTMENTS: dict[str, Department] = {
    "fruit": Department(12, """
        bananas, gala apples, easy-peel clementines, red seedless grapes, strawberries, blueberries, lemons,
        conference pears, limes, raspberries, green grapes, avocados, oranges, braeburn apples, plums,
        pineapple, mango, kiwi fruit, nectarines, melon, peaches, grapefruit, cherries, blackberries,
        pomegranate, passion fruit, fresh figs"""),  # noqa: E501
    "vegetables": Department(13, """
        white potatoes, cherry tomatoes, cucumber, carrots, brown onions, broccoli, red peppers, mushrooms,
        iceberg lettuce, spring onions, garlic, salad tomatoes, sweet potatoes, courgettes, baby spinach,
        cauliflower, celery, red onions, leeks, green beans, parsnips, sweetcorn, white cabbage,
        fresh basil, fresh coriander, fresh ginger, red chillies, rocket, radishes, beetroot, aubergine,
        butternut squash, asparagus, kale, swede, fresh mint, brussels sprouts, artichokes"""),  # noqa: E501
    "dairy": Department(14, """
        semi-skimmed milk, free-range eggs, mature cheddar, salted butter, whole milk, natural yogurt,
        strawberry yogurt, mozzarella, cream cheese, spreadable butter, skimmed milk, double cream,
        parmesan, oat drink, halloumi, red leicester, greek yogurt, cottage cheese, creme fraiche, feta,
        single cream, soya drink, custard pots, brie, grated cheddar, cheese slices, chocolate mousse,
        soured cream, stilton, margarine, kefir, almond drink, goat cheese, clotted cream, whipping cream"""),  # noqa: E501
    "bakery": Department(12, """
        sliced white bread, sliced wholemeal bread, croissants, bagels, crumpets, white rolls, baguette,
        tortilla wraps, burger buns, hot dog rolls, sourdough loaf, pitta breads, tea cakes,
        pains au chocolat, naan breads, seeded loaf, scones, doughnuts, muffins, fruit loaf,
        english muffins, brioche rolls, rye bread, flatbreads, custard tarts, cinnamon swirls, garlic bread,
        pancakes, ciabatta, victoria sponge, gluten-free loaf"""),  # noqa: E501
    "meat and fish": Department(8, """
        chicken breasts, smoked bacon, beef mince, sliced ham, pork sausages, salmon fillets,
        chicken thighs, chorizo, sliced turkey, beef burgers, salami, whole chicken, prawns, cod fillets,
        unsmoked bacon, smoked salmon, pork chops, diced beef, frankfurters, lamb chops, black pudding,
        pancetta, pork pie, scotch eggs, liver pate, smoked mackerel, rump steak, haddock fillets,
        turkey mince"""),  # noqa: E501
    "chilled meals": Department(4, """
        houmous, fresh soup, margherita pizza, coleslaw, lasagne, sausage rolls, potato salad, tofu, quiche,
        pepperoni pizza, cottage pie, chicken tikka masala, macaroni cheese, guacamole, fresh ravioli,
        vegetable samosas, meat-free sausages, olives, tzatziki, fishcakes"""),  # noqa: E501
    "frozen": Department(5, """
        garden peas, oven chips, fish fingers, vanilla ice cream, frozen pizza, hash browns, ice lollies,
        frozen berries, chicken nuggets, potato waffles, yorkshire puddings, ice cubes, mixed vegetables,
        frozen spinach, roast potatoes, chocolate ice cream, onion rings, veggie burgers, apple pie,
        battered cod"""),  # noqa: E501
    "tins and jars": Department(7, """
        baked beans, chopped tomatoes, tinned tuna, tomato sauce for pasta, tomato soup, kidney beans,
        sweetcorn tin, chickpeas, coconut milk, tikka curry sauce, green pesto, chicken soup,
        pickled onions, gherkins, rice pudding, tinned peaches, butter beans, sardines, spaghetti hoops,
        korma sauce, corned beef, black beans, lentil soup, sun-dried tomatoes, pineapple rings, capers,
        anchovies, custard tin"""),  # noqa: E501
    "pasta, rice and noodles": Department(5, """
        spaghetti, basmati rice, penne, instant noodles, fusilli, egg noodles, microwave rice, couscous,
        long grain rice, red lentils, lasagne sheets, risotto rice, quinoa, rice noodles, macaroni,
        bulgur wheat, taco shells, refried beans"""),  # noqa: E501
    "sauces and seasoning": Department(4, """
        tomato ketchup, mayonnaise, olive oil, table salt, brown sauce, sunflower oil, soy sauce,
        black pepper, gravy granules, vegetable stock cubes, salad cream, english mustard, vinegar,
        sweet chilli sauce, chicken stock cubes, mixed herbs, curry powder, chilli flakes, mint sauce,
        balsamic vinegar, cumin, paprika, oregano, barbecue sauce, hot pepper sauce, fajita seasoning,
        tomato salsa, turmeric, wholegrain mustard, horseradish sauce, tahini, cranberry sauce,
        worcester sauce"""),  # noqa: E501
    "cereals and spreads": Department(5, """
        cornflakes, strawberry jam, porridge oats, peanut butter, marmalade, wheat biscuits, clear honey,
        chocolate spread, granola, muesli, yeast extract, cereal bars, golden syrup, lemon curd,
        bran flakes, raspberry jam, puffed rice, apricot jam, maple syrup, shredded wheat"""),  # noqa: E501
    "home baking": Department(3, """
        granulated sugar, plain flour, self-raising flour, caster sugar, raisins, baking powder,
        icing sugar, cocoa powder, chopped nuts, dried yeast, vanilla extract, chocolate chips,
        ground almonds, sultanas, cake cases, brown sugar, strong bread flour, desiccated coconut,
        food colouring, marzipan, birthday candles"""),
    "tea and coffee": Department(4, """
        instant coffee, tea bags, ground coffee, hot chocolate, coffee pods, green tea, decaf tea bags,
        peppermint tea, earl grey tea, coffee beans, camomile tea, sweetener, malted drink,
        coffee filters"""),  # noqa: E501
    "soft drinks": Department(8, """
        cola, orange juice, still water, diet cola, sparkling water, energy drink, apple juice, lemonade,
        orange squash, tonic water, fruit smoothie, ginger beer, blackcurrant squash, orangeade, iced tea,
        sports drink, cranberry juice, cloudy apple juice, iced coffee, elderflower cordial, coconut water,
        tomato juice"""),  # noqa: E501
    "beer, wine and spirits": Department(6, """
        lager, red wine, dry cider, white wine, pale ale, prosecco, gin, rose wine, stout, vodka,
        alcohol-free beer, bitter, pear cider, whisky, rum, port, brandy, cream liqueur, sherry,
        canned cocktail"""),
    "crisps and nuts": Department(7, """
        ready salted crisps, cheese and onion crisps, salt and vinegar crisps, tortilla chips,
        salted peanuts, popcorn, prawn cocktail crisps, cashews, corn puffs, pretzels, mixed nuts,
        bacon crisps, rice cakes, pistachios, pork scratchings, breadsticks, dry roasted peanuts,
        vegetable crisps, trail mix"""),
    "biscuits and sweets": Department(9, """
        milk chocolate bar, digestive biscuits, chocolate digestives, jelly babies, custard creams,
        chewing gum, chocolate buttons, shortbread, dark chocolate, ginger nuts, mints, oatcakes,
        caramel wafers, crackers, hobnob biscuits, wine gums, toffees, jaffa cakes, rich tea biscuits,
        fudge, flapjack, marshmallows, liquorice, cream crackers, peanut bar, lollipops, turkish delight"""),  # noqa: E501
    "counter": Department(5, """
        daily newspaper, carrier bag, lottery scratch card, greetings card, sunday newspaper,
        postage stamps, tv magazine, cigarette lighter, puzzle magazine, phone top-up, gift wrap,
        rolling papers, gardening magazine, comic, envelopes, ballpoint pens, sticky tape, notebook"""),  # noqa: E501
    "household": Department(6, """
        toilet rolls, kitchen roll, washing-up liquid, bin bags, laundry capsules, kitchen foil, sponges,
        bleach, fabric softener, dishwasher tablets, batteries aa, cling film, surface spray, matches,
        light bulbs, washing powder, tea lights, baking paper, freezer bags, rubber gloves, glass cleaner,
        stain remover, shoe polish, firelighters, air freshener, dusters, candles, fuse wire"""),  # noqa: E501
    "health and beauty": Department(4, """
        toothpaste, paracetamol, shower gel, shampoo, tissues, deodorant, hand soap, plasters, ibuprofen,
        conditioner, toothbrush, sanitary towels, razor blades, cotton wool, throat lozenges, hand cream,
        mouthwash, shaving foam, vitamin c tablets, tampons, cough syrup, lip balm, hay fever tablets,
        contact lens solution, antacid tablets, dental floss, hair ties"""),  # noqa: E501
    "baby": Department(2, """
        nappies, baby wipes, baby formula, fruit puree pouches, baby rice, rusks, nappy sacks, baby shampoo,
        teething gel, cotton buds, baby lotion, toddler snacks, bottle steriliser, follow-on milk"""),  # noqa: E501
    "pet": Department(3, """
        wet cat food, dry dog food, cat litter, dog treats, dry cat food, wet dog food, cat treats,
        bird seed, dog chews, poo bags, rabbit food, fish flakes, flea collar, cat milk, hamster bedding"""),  # noqa: E501
    "spring specials": Department(1, """
        chocolate egg, hot cross buns, simnel cake, daffodils, pancake mix, mini eggs, compost,
        seed packets, tulips""", "spring"),
    "summer specials": Department(1, """
        sun cream, disposable barbecue, charcoal, paper plates, choc ices, insect repellent, kebab skewers,
        picnic cups, after-sun lotion, ice pops, aloe gel""", "summer"),  # noqa: E501
    "autumn specials": Department(1.3, """
        mince pies, pumpkin, sparklers, christmas pudding, chocolate selection box, crackers for the table,
        toffee apples, advent calendar, wrapping paper, chestnuts, stollen, mulled wine, fairy lights,
        stuffing mix, christmas cards""", "autumn"),  # noqa: E501
    "winter specials": Department(0.5, """
        de-icer, cold relief sachets, seville oranges, ice scraper, hot water bottle,
        heart-shaped chocolates, red roses, hand warmers, grit salt""", "winter"),
}

OCCASIONS: dict[str, Occasion] = {
    "a pot of tea": Occasion(22, {"tea bags": 0.95, "semi-skimmed milk": 0.95, "granulated sugar": 0.12,  # noqa: E501
        "digestive biscuits": 0.1, "custard creams": 0.06}),
    "pasta supper": Occasion(13, {"spaghetti": 0.94, "tomato sauce for pasta": 0.92, "parmesan": 0.72,  # noqa: E501
        "garlic bread": 0.2, "red wine": 0.08}),
    "continental breakfast": Occasion(10, {"croissants": 0.93, "salted butter": 0.75,
        "strawberry jam": 0.62, "orange juice": 0.2}),
    "a night in": Occasion(10, {"lager": 0.92, "ready salted crisps": 0.8, "salted peanuts": 0.25,
        "frozen pizza": 0.12}),
    "cereal": Occasion(8, {"cornflakes": 0.93, "whole milk": 0.9, "bananas": 0.2}),
    "changing the baby": Occasion(4, {"nappies": 0.95, "baby wipes": 0.9, "nappy sacks": 0.3}),
    "feeding the baby": Occasion(2, {"baby formula": 0.8, "fruit puree pouches": 0.75, "rusks": 0.3}),  # noqa: E501
    "beans on toast": Occasion(8, {"baked beans": 0.95, "sliced white bread": 0.85, "mature cheddar": 0.2}),  # noqa: E501
    "cheese sandwich": Occasion(6, {"sliced wholemeal bread": 0.85, "mature cheddar": 0.85,
        "pickled onions": 0.2}),
    "ham sandwich": Occasion(6, {"sliced ham": 0.92, "white rolls": 0.8, "cucumber": 0.25,
        "english mustard": 0.1}),
    "full english": Occasion(5, {"smoked bacon": 0.9, "free-range eggs": 0.85, "pork sausages": 0.4,
        "mushrooms": 0.2, "brown sauce": 0.2, "hash browns": 0.12}),
    "meal deal": Occasion(7, {"cheese and onion crisps": 0.8, "cola": 0.8, "milk chocolate bar": 0.35}),  # noqa: E501
    "sweet tooth": Occasion(4, {"milk chocolate bar": 0.8, "jelly babies": 0.6, "popcorn": 0.25}),
    "morning paper": Occasion(6, {"daily newspaper": 0.95, "mints": 0.45, "lottery scratch card": 0.3}),  # noqa: E501
    "sunday paper": Occasion(3, {"sunday newspaper": 0.95, "pains au chocolat": 0.5, "ground coffee": 0.3}),  # noqa: E501
    "coffee": Occasion(5, {"instant coffee": 0.9, "skimmed milk": 0.7, "chocolate digestives": 0.3}),  # noqa: E501
    "porridge": Occasion(4, {"porridge oats": 0.93, "clear honey": 0.65, "blueberries": 0.4}),
    "yogurt and fruit": Occasion(4, {"greek yogurt": 0.8, "granola": 0.7, "raspberries": 0.45}),
    "toast and spread": Occasion(4, {"sliced white bread": 0.7, "peanut butter": 0.75, "marmalade": 0.2}),  # noqa: E501
    "bagels": Occasion(3, {"bagels": 0.93, "cream cheese": 0.88, "smoked salmon": 0.35}),
    "crumpets": Occasion(2.5, {"crumpets": 0.9, "spreadable butter": 0.75, "golden syrup": 0.15}),
    "cream tea": Occasion(1.5, {"scones": 0.9, "clotted cream": 0.8, "raspberry jam": 0.7,
        "earl grey tea": 0.2}),
    "curry": Occasion(5, {"chicken breasts": 0.7, "tikka curry sauce": 0.9, "basmati rice": 0.8,
        "naan breads": 0.5}),
    "dal": Occasion(1.5, {"red lentils": 0.9, "coconut milk": 0.6, "turmeric": 0.3, "fresh ginger": 0.4,  # noqa: E501
        "garlic": 0.4}),
    "stir-fry": Occasion(3, {"egg noodles": 0.85, "soy sauce": 0.65, "red peppers": 0.55,
        "spring onions": 0.5}),
    "chilli": Occasion(3.5, {"beef mince": 0.85, "kidney beans": 0.85, "chopped tomatoes": 0.7,
        "long grain rice": 0.4, "soured cream": 0.2}),
    "fajitas": Occasion(3, {"tortilla wraps": 0.9, "fajita seasoning": 0.7, "red peppers": 0.5,
        "chicken thighs": 0.4, "tomato salsa": 0.4}),
    "nachos": Occasion(3, {"tortilla chips": 0.9, "tomato salsa": 0.65, "guacamole": 0.5,
        "grated cheddar": 0.3}),
    "sunday roast": Occasion(3, {"whole chicken": 0.8, "white potatoes": 0.75, "carrots": 0.6,
        "gravy granules": 0.5, "yorkshire puddings": 0.4, "parsnips": 0.3}),
    "sausage and mash": Occasion(3, {"pork sausages": 0.9, "white potatoes": 0.75, "garden peas": 0.4,  # noqa: E501
        "gravy granules": 0.35}),
    "fish finger tea": Occasion(4, {"fish fingers": 0.93, "oven chips": 0.75, "garden peas": 0.5,
        "tomato ketchup": 0.25}),
    "salmon dinner": Occasion(2.5, {"salmon fillets": 0.92, "broccoli": 0.6, "lemons": 0.4}),
    "greek salad": Occasion(1.5, {"feta": 0.9, "cucumber": 0.7, "olives": 0.5, "cherry tomatoes": 0.5}),  # noqa: E501
    "caprese": Occasion(2, {"mozzarella": 0.92, "salad tomatoes": 0.7, "fresh basil": 0.6,
        "olive oil": 0.2}),
    "green salad": Occasion(4, {"iceberg lettuce": 0.8, "cucumber": 0.7, "cherry tomatoes": 0.65,
        "coleslaw": 0.2}),
    "mezze": Occasion(3, {"houmous": 0.93, "pitta breads": 0.75, "olives": 0.3}),
    "soup and bread": Occasion(3.5, {"tomato soup": 0.85, "baguette": 0.65, "single cream": 0.1}),
    "tuna sandwich": Occasion(4, {"tinned tuna": 0.93, "mayonnaise": 0.65, "sweetcorn tin": 0.45}),
    "student supper": Occasion(3, {"instant noodles": 0.93, "energy drink": 0.45, "hot pepper sauce": 0.2}),  # noqa: E501
    "wine and cheese": Occasion(3, {"red wine": 0.85, "brie": 0.65, "crackers": 0.6,
        "red seedless grapes": 0.4}),
    "gin and tonic": Occasion(3, {"gin": 0.85, "tonic water": 0.9, "limes": 0.5, "ice cubes": 0.25}),  # noqa: E501
    "match day": Occasion(2, {"pale ale": 0.85, "dry roasted peanuts": 0.6, "pork scratchings": 0.35}),  # noqa: E501
    "party": Occasion(1.2, {"prosecco": 0.8, "ready salted crisps": 0.3, "sausage rolls": 0.5,
        "greetings card": 0.4}),
    "birthday": Occasion(1.2, {"greetings card": 0.85, "gift wrap": 0.6, "birthday candles": 0.4,
        "victoria sponge": 0.3}),
    "baking a cake": Occasion(2.2, {"self-raising flour": 0.85, "caster sugar": 0.75,
        "free-range eggs": 0.6, "salted butter": 0.4, "icing sugar": 0.3, "vanilla extract": 0.2}),
    "packed lunch": Occasion(4, {"cereal bars": 0.6, "easy-peel clementines": 0.65, "cheese slices": 0.5,  # noqa: E501
        "apple juice": 0.5, "strawberry yogurt": 0.35}),
    "cat": Occasion(4, {"wet cat food": 0.93, "cat litter": 0.55, "cat treats": 0.3}),
    "dog": Occasion(4, {"dry dog food": 0.85, "dog treats": 0.55, "poo bags": 0.45, "wet dog food": 0.2}),  # noqa: E501
    "cleaning day": Occasion(3, {"washing-up liquid": 0.75, "sponges": 0.65, "bin bags": 0.5,
        "bleach": 0.3}),
    "paper goods": Occasion(4, {"toilet rolls": 0.93, "kitchen roll": 0.7}),
    "laundry": Occasion(2.5, {"laundry capsules": 0.9, "fabric softener": 0.7, "stain remover": 0.15}),  # noqa: E501
    "bathroom": Occasion(2.5, {"toothpaste": 0.75, "shower gel": 0.55, "shampoo": 0.45, "deodorant": 0.35}),  # noqa: E501
    "a cold": Occasion(2, {"paracetamol": 0.85, "tissues": 0.7, "throat lozenges": 0.45,
        "lemons": 0.25}, "winter"),
    "pancake day": Occasion(2, {"plain flour": 0.85, "free-range eggs": 0.8, "lemons": 0.75,
        "caster sugar": 0.4}, "winter"),
    "easter": Occasion(2, {"chocolate egg": 0.85, "hot cross buns": 0.75, "mini eggs": 0.5}, "spring"),  # noqa: E501
    "barbecue": Occasion(4, {"burger buns": 0.85, "beef burgers": 0.8, "disposable barbecue": 0.45,
        "coleslaw": 0.4, "lager": 0.3}, "summer"),
    "strawberries and cream": Occasion(2.5, {"strawberries": 0.95, "double cream": 0.8}, "summer"),
    "halloween": Occasion(1.5, {"pumpkin": 0.8, "lollipops": 0.5, "jelly babies": 0.5}, "autumn"),
    "christmas": Occasion(3, {"mince pies": 0.9, "mulled wine": 0.5, "wrapping paper": 0.45,
        "sherry": 0.2}, "autumn"),
}

HOUSEHOLDS: dict[str, Household] = {
    "student": Household(14, 2.2, 2.6,
        {"baby": 0.02, "pet": 0.2, "beer, wine and spirits": 1.5, "crisps and nuts": 1.6, "frozen": 1.3},  # noqa: E501
        {"student supper": 6, "beans on toast": 1.5, "a night in": 1.6, "meal deal": 2, "sunday roast": 0.2,  # noqa: E501
         "changing the baby": 0, "feeding the baby": 0, "cat": 0.1, "dog": 0.1, "morning paper": 0.1}),  # noqa: E501
    "commuter": Household(18, 2.8, 2.2,
        {"baby": 0.05, "pet": 0.4, "chilled meals": 1.8, "soft drinks": 1.5, "counter": 1.3},
        {"meal deal": 3, "coffee": 1.5, "bagels": 2, "curry": 1.2, "changing the baby": 0,
         "feeding the baby": 0, "sunday roast": 0.5, "gin and tonic": 1.4}),
    "couple": Household(22, 2.6, 3.2,
        {"baby": 0.1, "beer, wine and spirits": 1.3, "vegetables": 1.2, "meat and fish": 1.2},
        {"continental breakfast": 1.4, "wine and cheese": 2, "mezze": 1.6, "caprese": 1.8,
         "greek salad": 1.8, "salmon dinner": 1.6, "changing the baby": 0.05, "feeding the baby": 0.05,  # noqa: E501
         "student supper": 0.3}),
    "family": Household(20, 3, 4.2,
        {"baby": 0.4, "cereals and spreads": 1.4, "frozen": 1.4, "biscuits and sweets": 1.2, "dairy": 1.1},  # noqa: E501
        {"packed lunch": 3, "fish finger tea": 2.4, "cereal": 1.8, "pasta supper": 1.3, "sunday roast": 1.5,  # noqa: E501
         "baking a cake": 1.6, "halloween": 2.5, "easter": 1.6, "changing the baby": 0.3,
         "feeding the baby": 0.3, "student supper": 0.2}),
    "new parents": Household(7, 3.4, 3.6,
        {"baby": 9, "health and beauty": 1.3, "beer, wine and spirits": 0.6},
        {"changing the baby": 11, "feeding the baby": 10, "paper goods": 1.5, "laundry": 1.8,
         "student supper": 0.2, "party": 0.4}),
    "pensioner": Household(19, 3.2, 2.6,
        {"baby": 0.02, "counter": 1.8, "tins and jars": 1.3, "bakery": 1.2, "beer, wine and spirits": 0.6,  # noqa: E501
         "soft drinks": 0.5},
        {"a pot of tea": 1.9, "morning paper": 3.5, "sunday paper": 2.5, "soup and bread": 1.8,
         "ham sandwich": 1.5, "cream tea": 2.5, "crumpets": 2, "toast and spread": 1.4, "meal deal": 0.1,  # noqa: E501
         "student supper": 0, "changing the baby": 0, "feeding the baby": 0, "a night in": 0.4,
         "fajitas": 0.3, "nachos": 0.2}),
}
# fmt: on

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def names_of(department: Department) -> list[str]:
    """Return the item names of a department, most wanted first."""
    return [name.strip() for name in department.items.split(",")]


def make_catalogue() -> list[str]:
    """Return all item names in shelf order; raise ValueError if the data above contradict each
    other.
    """
    catalogue = [name for department in DEPARTMENTS.values() for name in names_of(department)]
    if len(set(catalogue)) != len(catalogue):
        raise ValueError(
            f"listed twice: {sorted({n for n in catalogue if catalogue.count(n) > 1})}"
        )
    named = {name for occasion in OCCASIONS.values() for name in occasion.items} | STAPLES.keys()
    for household in HOUSEHOLDS.values():
        known = household.departments.keys() <= DEPARTMENTS.keys()
        if not (known and household.occasions.keys() <= OCCASIONS.keys()):
            raise ValueError(f"unknown department or occasion in {household}")
    if not named <= set(catalogue):
        raise ValueError(f"not in any department: {sorted(named - set(catalogue))}")
    return catalogue


def season_factor(own: str, season: str) -> float:
    """Return how much more is sold in a season, given the season a thing belongs to ("" for all
    year).
    """
    return 1.0 if not own else IN_SEASON if own == season else OUT_OF_SEASON


class Tastes(NamedTuple):
    """Running totals of the weights of items, in shelf order, and of occasions."""

    items: FloatArray
    occasions: FloatArray


def tastes_of(household: Household, season: str) -> Tastes:
    """Work out the weights of one kind of household in one season."""
    items: list[float] = []
    for name, department in DEPARTMENTS.items():
        names = names_of(department)
        zipf = 1.0 / np.arange(1, len(names) + 1)
        staples = np.array([STAPLES.get(item, 0.0) for item in names])
        liking = household.departments.get(name, 1.0) * season_factor(department.season, season)
        items.extend(liking * (department.share * zipf / zipf.sum() + staples))
    occasions = [
        occasion.weight
        * household.occasions.get(name, 1.0)
        * season_factor(occasion.season, season)
        for name, occasion in OCCASIONS.items()
    ]
    return Tastes(np.cumsum(items), np.cumsum(occasions))


def draw(rng: np.random.Generator, running_total: FloatArray) -> int:
    """Draw an index with probability proportional to the weights behind a running total."""
    return int(np.searchsorted(running_total, rng.random() * running_total[-1], side="right"))


class Customer(NamedTuple):
    """One customer: kind of household, habitual occasions and favourite items (all as numbers)."""

    household: int
    occasions: list[int]
    items: list[int]


class Shop:
    """The model with its weights worked out: draws customers and baskets."""

    def __init__(self, rng: np.random.Generator, catalogue: Sequence[str]) -> None:
        """Number the items and prepare the weights of every household and season."""
        number = {name: index for index, name in enumerate(catalogue)}
        self.rng = rng
        self.households = list(HOUSEHOLDS.values())
        self.household_shares = np.cumsum([household.share for household in self.households])
        # What each occasion brings: item numbers, and the chance of each.
        self.plans = [
            ([number[name] for name in occasion.items], np.array([*occasion.items.values()]))
            for occasion in OCCASIONS.values()
        ]
        self.tastes = [
            [tastes_of(household, season) for season in SEASONS] for household in self.households
        ]
        self.all_year = [tastes_of(household, "") for household in self.households]

    def new_customer(self) -> Customer:
        """Draw a customer with habits."""
        household = draw(self.rng, self.household_shares)
        tastes = self.all_year[household]
        return Customer(
            household,
            [draw(self.rng, tastes.occasions) for _ in range(HABIT_OCCASIONS)],
            [draw(self.rng, tastes.items) for _ in range(HABIT_ITEMS)],
        )

    def visits_of(self, customer: Customer) -> int:
        """Draw how often a customer comes in the year: at least once."""
        rate = self.rng.gamma(VISIT_SHAPE, self.households[customer.household].visits / VISIT_SHAPE)
        return 1 + int(self.rng.poisson(rate))

    def basket_of(self, customer: Customer, season: int) -> list[int]:
        """Draw the basket of one visit: distinct item numbers in shelf order, at least one."""
        tastes = self.tastes[customer.household][season]
        median = self.households[customer.household].size
        target = min(LARGEST_TARGET, 1 + int(self.rng.lognormal(np.log(median), SIZE_SPREAD)))
        basket: set[int] = set()
        while len(basket) < target:
            if self.rng.random() < OCCASION_CHANCE:
                items, chances = self.plans[
                    self._habit(OCCASION_HABIT, customer.occasions, tastes.occasions)
                ]
                bought = self.rng.random(len(items)) < chances
                basket.update(item for item, taken in zip(items, bought, strict=True) if taken)
            else:
                basket.add(self._habit(ITEM_HABIT, customer.items, tastes.items))
        return sorted(basket)

    def _habit(self, chance: float, own: Sequence[int], running_total: FloatArray) -> int:
        """Draw one of the customer's own, with that chance, or any."""
        if self.rng.random() < chance:
            return own[int(self.rng.integers(len(own)))]
        return draw(self.rng, running_total)


class Sales(NamedTuple):
    """A year of sales in time order: of each basket the customer number (from 1), the item numbers,
    and the day.
    """

    customers: IntArray
    baskets: list[list[int]]
    days: NDArray[Any]


def make_sales(shop: Shop, customers: int) -> Sales:
    """Draw the customers, their visits through the year, and a basket for each visit."""
    people = [shop.new_customer() for _ in range(customers)]
    visitor = np.repeat(np.arange(customers), [shop.visits_of(person) for person in people])
    time = shop.rng.random(len(visitor))  # in years
    order = np.argsort(time, kind="stable")
    seasons = (time[order] * len(SEASONS)).astype(np.int64)
    visitor = visitor[order]
    baskets = [
        shop.basket_of(people[who], when) for who, when in zip(visitor, seasons, strict=True)
    ]
    days = np.datetime64(f"{YEAR}-01-01") + np.floor(time[order] * 365).astype("timedelta64[D]")
    return Sales(visitor + 1, baskets, days)


def to_table(sales: Sales, catalogue: Sequence[str]) -> pa.Table:
    """Return one row per basket: customer (int32), basket (int32, from 1), items (list of string),
    date (date32).
    """
    names = [[catalogue[item] for item in basket] for basket in sales.baskets]
    return pa.table(
        {
            "customer": pa.array(sales.customers, pa.int32()),
            "basket": pa.array(np.arange(1, len(names) + 1), pa.int32()),
            "items": pa.array(names, pa.list_(pa.string())),
            "date": pa.array(sales.days, pa.date32()),
        }
    )


def write_atomically(table: pa.Table, output: Path) -> None:
    """Write Parquet to a temporary name beside the output, then rename it."""
    temporary = output.with_name(output.name + ".part")
    try:
        pq.write_table(
            table,
            temporary,
            compression="zstd",
            compression_level=19,
            use_dictionary=["items.list.element"],
            column_encoding={
                "customer": "PLAIN",
                "basket": "DELTA_BINARY_PACKED",
                "date": "DELTA_BINARY_PACKED",
            },
        )
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def top_itemsets(sales: Sales, catalogue: Sequence[str], size: int, top: int) -> Iterator[str]:
    """Count every itemset of a size by brute force; yield the top ones: baskets, customers who ever
    had it, items.
    """
    places = [len(catalogue) ** place for place in range(size)]
    keys: list[int] = []
    buyers: list[int] = []
    for customer, basket in zip(sales.customers.tolist(), sales.baskets, strict=True):
        before = len(keys)
        keys.extend(sum(map(mul, itemset, places)) for itemset in combinations(basket, size))
        buyers.extend([customer] * (len(keys) - before))
    key, per_basket = np.unique(np.array(keys), return_counts=True)
    once = np.unique(np.array(keys) * (CUSTOMERS + 1) + np.array(buyers)) // (CUSTOMERS + 1)
    _, per_customer = np.unique(once, return_counts=True)
    for i in np.argsort(-per_basket, kind="stable")[:top]:
        names = " + ".join(catalogue[int(key[i]) // place % len(catalogue)] for place in places)
        yield f"  {per_basket[i]:6d} {per_customer[i]:6d}  {names}"


def summary(sales: Sales, catalogue: Sequence[str], top: int) -> Iterator[str]:
    """Yield lines with the true figures, which datasets/README.md quotes."""
    sizes = [len(basket) for basket in sales.baskets]
    sold = {item for basket in sales.baskets for item in basket}
    customers = len(np.unique(sales.customers))
    yield f"seed {SEED}: {len(sizes)} baskets of {customers} customers, {len(sold)} items"
    yield (
        f"basket size: mean {np.mean(sizes):.2f}, median {np.median(sizes):.0f}, largest "
        f"{max(sizes)}"
    )
    for size, title in ((1, "items"), (2, "pairs"), (3, "triples")):
        yield f"top {title} (baskets, customers):"
        yield from top_itemsets(sales, catalogue, size, top)


def main() -> None:
    """Make the sales, write them, print the true figures."""
    about = "Make the synthetic corner shop data set (always the same) and print its true figures."
    parser = argparse.ArgumentParser(description=about)
    place = "the Parquet file to write; its folder must exist (default: %(default)s)"
    parser.add_argument(
        "--output", type=Path, default=Path("datasets/corner_shop.parquet"), help=place
    )
    output: Path = parser.parse_args().output
    catalogue = make_catalogue()
    sales = make_sales(Shop(np.random.default_rng(SEED), catalogue), CUSTOMERS)
    write_atomically(to_table(sales, catalogue), output)
    print(f"wrote {output} ({output.stat().st_size} bytes)")
    print("\n".join(summary(sales, catalogue, top=10)))


if __name__ == "__main__":
    main()
