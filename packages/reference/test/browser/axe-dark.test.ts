import { expect, test } from 'vitest';
import { checkByAxe } from '../support/check-by-axe.ts';
import { useSiteBrowser } from '../support/site-browser.ts';

const browser = await useSiteBrowser();

test('axe finds nothing to object to on any page, dark, on a desktop or a phone', async () => {
  expect(await checkByAxe(browser, 'dark')).toEqual([]);
});
