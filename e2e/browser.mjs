// What the tests share of Chromium: how it is started here, and the picture that
// is left of a page on which something went wrong.
import { chromium } from 'playwright-core';

// launch starts a browser with a new profile. Everything that would reach for
// the network on its own is off; root, as in many containers, has no sandbox.
export function launch(executablePath) {
  // The test's end of this is closed when the test is gone, whatever it died of.
  process.stdin.on('end', () => process.exit()).resume().unref();
  return chromium.launch({
    executablePath,
    headless: true,
    chromiumSandbox: false,
    args: [
      '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
    ],
  });
}

// withPicture runs the steps and, if one fails, keeps what the page shows.
export async function withPicture(page, file, steps) {
  try {
    return await steps();
  } catch (error) {
    await page.screenshot({ path: file, fullPage: true }).catch(() => {});
    throw new Error(`${error.message}\nat ${page.url()}, pictured in e2e/${file}`);
  }
}

// signIn does what a person does on the pages of both authorization servers:
// devauth has one page, oidc-provider asks for the name, once in a browser, and
// then for the consent.
export async function signIn(page, name) {
  const button = page.locator('button[value=approve], button.login-submit');
  await button.waitFor();
  if (await page.locator('input[name=user]').count()) await page.locator('input[name=user]').fill(name);
  if (await page.locator('input[name=login]').count()) {
    await page.locator('input[name=login]').fill(name);
    await page.locator('input[name=password]').fill('any');
    await button.click();
    await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' });
  }
  await button.click();
}
