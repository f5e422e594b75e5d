import type { Page, WatchedPage } from '@petstore/testing/chromium';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, PHONE, useSiteBrowser, widthOf } from '../support/site-browser.ts';

const { visit } = await useSiteBrowser();

const searchFor = async (page: Page, words: string) => {
  const dialog = page.getByRole('dialog', { name: 'Search' });
  const links = dialog.getByRole('link');
  await dialog.getByRole('searchbox').fill('');
  await eventually(() => links.first().textContent()).toContain('List all orders'); // nothing is left of the search before
  await dialog.getByRole('searchbox').fill(words);
  return { dialog, links, first: links.first() };
};

describe('on a guide', () => {
  let guide: WatchedPage;
  beforeAll(async () => {
    guide = await visit('/docs/versions');
    await guide.page.keyboard.press('Control+k');
  });
  afterAll(() => guide[Symbol.asyncDispose]());

  test.each([
    ['getPetById', 'Find a pet by its identifier'],
    ['banned', 'api_key_banned'],
    ['back off', 'Back off'],
    ['rate limt', 'rate_limit_exceeded'],
    ['int64', '64-bit ids in your language'],
    ['webhook', 'Follow orders'],
    ['sdk', 'Five minutes over REST'],
    ['pagination', 'v2 preview'],
    ['credentials', 'Authentication'],
    ['CORS', 'Keep it'],
    ['cancle', 'Cancel an order'],
  ])('for "%s" finds %s', async (words, found) => {
    const { links } = await searchFor(guide.page, words);
    await eventually(async () => (await links.allTextContents()).slice(0, 4).join()).toContain(found);
    expect(guide.offences).toEqual([]);
  });
});

test.each([
  ['cancel', 'Cancel an order'],
  ['retry-after', 'Retry-After'],
  ['plan', 'Limits and backing off'],
  ['api_key_banned', 'api_key_banned'],
])('for "%s" the first result is %s', async (words, title) => {
  await using guide = await visit('/docs/versions');
  await guide.page.keyboard.press('/');
  const { first } = await searchFor(guide.page, words);
  await eventually(() => first.locator('strong').textContent()).toBe(title);
});

test('before anything is typed search offers the operations and the guides', async () => {
  await using guide = await visit('/docs/versions');
  await guide.page.keyboard.press('/');
  const links = guide.page.getByRole('dialog', { name: 'Search' }).getByRole('link');
  await eventually(async () => (await links.allTextContents()).join()).toMatch(
    /Cancel an order.*Five minutes over REST/,
  );
});

describe('on the reference', () => {
  let reference: WatchedPage;
  beforeAll(async () => {
    reference = await visit('/docs');
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  test.each([
    ['cancelOrder', '#cancelOrder', 'Cancel an order'],
    ['order schema', '#Order', 'Order'],
  ])('for "%s" leads within the reference to %s', async (words, hash, name) => {
    await reference.page.getByRole('button', { name: 'Search' }).click();
    const { dialog, first } = await searchFor(reference.page, words);
    await eventually(() => first.textContent()).toContain(name);
    await first.focus();
    await reference.page.keyboard.press('Enter');
    await eventually(() => dialog.isVisible()).toBe(false);
    expect(new URL(reference.page.url()).hash).toBe(hash);
    const heading = reference.page.getByRole('heading', { name: new RegExp(`^${name} `) });
    await eventually(async () => (await heading.boundingBox())?.y).toBeLessThan(400);
    await eventually(async () => (await heading.boundingBox())?.y).toBeGreaterThan(0);
  });

  test('leads with Enter from the reference to a section of a guide', async () => {
    await reference.page.keyboard.press('Control+k');
    const { first } = await searchFor(reference.page, 'queue');
    await eventually(() => first.textContent()).toContain('Bans');
    await reference.page.keyboard.press('Enter');
    await reference.page.waitForURL('**/docs/limits#bans');
    expect(reference.offences).toEqual([]);
  });
});

test('says that there is nothing, and finds again what there is', async () => {
  await using guide = await visit('/docs/errors/overloaded', PHONE);
  await guide.page.getByRole('button', { name: 'Search' }).tap();
  const { dialog, first } = await searchFor(guide.page, 'hippopotamus');
  await dialog.getByText('Nothing found for “hippopotamus”.').waitFor();
  await searchFor(guide.page, 'api_key_banned');
  await eventually(() => first.getAttribute('href')).toBe('docs/errors/api_key_banned');
  expect(await widthOf(guide.page)).toBeLessThanOrEqual(390);
  await guide.page.keyboard.press('Escape');
  expect(await dialog.isVisible()).toBe(false);
});
