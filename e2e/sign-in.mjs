// A person with a browser of their own, who opens a page, signs in, and is sent
// on to the program that asked for it.
//
//   node sign-in.mjs '{"chromium": …, "url": …, "name": …, "phone": …, "scripts": …, "picture": …}'
//
// Out:  {"at": the address where the browser ends up}
import { devices } from 'playwright-core';
import { launch, signIn, withPicture } from './browser.mjs';

const { chromium, url, name, phone = false, scripts = true, picture } = JSON.parse(process.argv[2]);

const browser = await launch(chromium);
const page = await browser.newPage({
  ...devices[phone ? 'iPhone SE' : 'Desktop Chrome'],
  javaScriptEnabled: scripts,
});
page.setDefaultTimeout(30_000);

const at = await withPicture(page, picture, async () => {
  await page.goto(url);
  // What does not fit must be seen by scrolling down, never sideways; and a
  // thumb must be able to hit the buttons.
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wide > 0) throw new Error(`the page is ${wide} pixels wider than the screen`);
  for (const button of await page.getByRole('button').all()) {
    const box = await button.boundingBox();
    if (phone && box.height < 40) throw new Error(`a button is only ${box.height} pixels high`);
  }
  await signIn(page, name);
  await page.waitForURL((at) => at.pathname === '/callback');
  return page.url();
});
console.log(JSON.stringify({ at }));
await browser.close();
