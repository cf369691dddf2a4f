// A person at the Inspector's web page: connects, signs in, fills a cart, buys
// it, and looks at the order.
//
//   node inspector-web.mjs '{"chromium": …, "url": …, "authServer": …, "name": …, "picture": …}'
//
// Out:  {"order": …} as order_list showed it
import { launch, signIn, withPicture } from './browser.mjs';

const { chromium, url, authServer, name, picture } = JSON.parse(process.argv[2]);

const browser = await launch(chromium);
const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
page.setDefaultTimeout(30_000);

const connected = () => page.locator('[data-testid=connection-status][data-status=connected]').waitFor();
const atAuthServer = (timeout) => page.waitForURL((at) => at.origin === authServer, { timeout });

// connect presses the switch of the one server. The page draws it anew when its
// settings arrive, and a press just before that is lost: then, as a person
// would, it is pressed again. It is drawn over its own input, hence by its key.
async function connect() {
  for (let tries = 0; ; tries++) {
    if (await page.getByText('Disconnected', { exact: true }).count() || tries === 0) {
      await page.getByRole('switch', { name: 'Connect or disconnect' }).press('Space');
    }
    try {
      return await atAuthServer(3_000);
    } catch (error) {
      if (tries === 10) throw error;
    }
  }
}

// execute fills in a tool's form and runs it.
async function execute(tool, fields) {
  await page.getByRole('button', { name: new RegExp(`\\b${tool}$`) }).click();
  for (const [field, value] of Object.entries(fields)) {
    await page.getByRole('textbox', { name: field, exact: true }).fill(String(value));
  }
  await page.getByRole('button', { name: 'Execute Tool' }).click();
}

// shown waits until the results show a text, and returns it.
async function shown(pattern) {
  const results = page.locator('main').filter({ has: page.getByRole('heading', { name: 'Structured Output' }) }).filter({ hasText: pattern });
  await results.waitFor();
  return (await results.innerText()).match(pattern)[0];
}

async function shop() {
  await page.goto(url);
  await connect();
  await signIn(page, name);
  await connected();
  await page.getByRole('radio', { name: 'Tools' }).press('Space');

  await execute('cart_create', {});
  const cart_id = await shown(/cart_[0-9a-z]{30}/);
  await execute('cart_set_item', { cart_id, sku: 'MUG-BLUE', quantity: 2 });
  await shown(/"total_minor": 2980/);

  // The token may not buy: the page says what more is needed, and is back at the
  // same form when that has been granted.
  await execute('checkout', { cart_id });
  const more = page.getByRole('dialog', { name: 'Additional permissions required' });
  await more.getByText('order:place').first().waitFor();
  await more.getByRole('button', { name: 'Authorize' }).click();
  await atAuthServer();
  await signIn(page, name);
  await connected();
  await page.getByRole('button', { name: 'Execute Tool' }).click();

  const question = page.getByRole('dialog', { name: 'Elicitation Request' });
  await question.getByRole('textbox', { name: 'Shipping' }).click();
  await page.getByRole('option', { name: 'express' }).click();
  await question.getByRole('button', { name: 'Submit' }).click();
  await question.getByText('Total: 44.70 EUR').waitFor();
  await question.getByLabel('Place this order').press('Space');
  await question.getByRole('button', { name: 'Submit' }).click();
  const order = await shown(/ord_[0-9a-z]{30}/);

  await execute('order_list', {});
  await shown(new RegExp(`${order}[^]*"total_minor": 4470`));
  return { order, cart_id };
}

console.log(JSON.stringify(await withPicture(page, picture, shop)));
await browser.close();
