import { launch, signIn } from '/work/main/e2e/browser.mjs';
import { readFileSync } from 'node:fs';
const url = readFileSync('/tmp/e2ex/weburl', 'utf8'), out = '/tmp/e2ex';
const b = await launch('/usr/bin/chromium');
const page = await (await b.newContext({ viewport: { width: 1400, height: 1000 } })).newPage();
page.setDefaultTimeout(20000);
const shot = async (n) => { await page.screenshot({ path: `${out}/${n}.png` }); };
const snap = async (l='body') => console.log((await page.locator(l).first().ariaSnapshot()).slice(0,7000));
try {
await page.goto(url);
await page.getByRole('switch', {name: /Connect/}).press('Space');
await page.waitForURL(u => /authorize|interaction|auth/.test(u.pathname)).catch(()=>{});
if (/authorize|interaction/.test(page.url())) await signIn(page, 'alice');
await page.locator('[data-testid="connection-status"][data-status="connected"]').waitFor();
await page.getByRole('radio', {name:'Tools'}).press('Space');

const open = (n) => page.getByRole('button', {name: new RegExp(n+'$')}).click();
const exec = async () => { await page.getByRole('button', {name:'Execute Tool'}).click(); };
await open('cart_create'); await exec(); await page.waitForTimeout(1500); await shot('4');
await page.locator('main').first().ariaSnapshot().then(x=>console.log(x.slice(x.indexOf('Select a tool')>0?0:900, 3500)));
const id = (await page.locator('main').innerText()).match(/cart_[0-9a-z]{30}/)[0]; console.log(id);
await open('cart_set_item'); await page.waitForTimeout(1000); await shot('5');
await page.locator('main').first().ariaSnapshot().then(x=>console.log(x.slice(900, 3500)));
await page.getByRole('textbox', {name: 'cart_id'}).fill(id);
await page.getByRole('textbox', {name: 'sku'}).fill('MUG-BLUE');
await page.getByRole('textbox', {name: 'quantity'}).fill('2');
await exec(); await page.waitForTimeout(1500); await shot('6');
await open('checkout'); await page.getByRole('textbox', {name: 'cart_id'}).fill(id); await exec(); 
await page.getByRole('dialog').getByRole('button', {name:'Authorize'}).click();
await page.waitForURL(u => /authorize/.test(u.pathname)); await shot('8');
await signIn(page, 'alice');
await page.locator('[data-testid="connection-status"][data-status="connected"]').waitFor();

await page.waitForTimeout(500);
await page.getByRole('button', {name:'Execute Tool'}).click();

const d = page.getByRole('dialog', {name:'Elicitation Request'});
await d.getByRole('textbox', {name:'Shipping'}).click();
await page.getByRole('option', {name:'express'}).click();
await shot('10');
await d.getByRole('button', {name:'Submit'}).click();
await d.getByText('Please confirm').waitFor();
await page.waitForTimeout(500);
await shot('11'); await d.ariaSnapshot().then(x=>console.log(x));
await d.getByLabel('Place this order').press('Space');
await shot('12'); await d.ariaSnapshot().then(x=>console.log(x));
await d.getByRole('button', {name:'Submit'}).click();
await page.getByText('ordered').first().waitFor();
await page.waitForTimeout(500);
await shot('13'); 



} catch (e) { console.log(String(e)); await shot('err'); console.log(page.url()); await snap();}
await b.close();
