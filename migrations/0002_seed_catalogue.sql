-- Why: a server without products has nothing to show. Replace this file by your
-- own catalogue, or delete it, before the first release; nothing depends on it.

-- +goose Up
INSERT INTO products (sku, name, unit_price_minor, currency, stock) VALUES
    ('BAG-CANVAS',    'Canvas shopping bag',              1290, 'EUR', 120),
    ('BOTTLE-STEEL',  'Steel water bottle, 750 ml',       2490, 'EUR',  80),
    ('CANDLE-CEDAR',  'Cedar candle',                     1850, 'EUR',  45),
    ('KETTLE-GOOSE',  'Gooseneck kettle, 1 l',            6900, 'EUR',  12),
    ('LAMP-DESK',     'Desk lamp, dimmable',              5490, 'EUR',  20),
    ('MUG-BLUE',      'Stoneware mug, blue',              1490, 'EUR',  60),
    ('MUG-WHITE',     'Stoneware mug, white',             1490, 'EUR',  60),
    ('NOTEBOOK-A5',   'Notebook A5, dotted, 160 pages',    990, 'EUR', 200),
    ('PEN-FOUNTAIN',  'Fountain pen, medium nib',         3900, 'EUR',  25),
    ('PLANT-FERN',    'Fern in a clay pot',               2190, 'EUR',   8),
    ('SOCKS-WOOL',    'Wool socks, one size',             1690, 'EUR',  90),
    ('TEAPOT-CLAY',   'Clay teapot, hand-thrown, signed', 11900, 'EUR',  1);
