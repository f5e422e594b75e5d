import { describe, expect, test } from 'vitest';
import { PHONE, useSiteBrowser } from '../support/site-browser.ts';

const { visit } = await useSiteBrowser();

describe('with the keyboard', () => {
  test.each(['/docs', '/docs/limits', '/docs/errors'])(
    'the first Tab on %s offers to skip to the text',
    async (path) => {
      await using reader = await visit(path);
      const { page } = reader;
      const focused = () => page.evaluate(() => document.activeElement?.textContent);
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Skip to the text');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
    },
  );

  test('an operation is called without a mouse', async () => {
    await using reader = await visit('/docs#cancelOrder');
    const { page } = reader;
    await page.getByRole('button', { name: 'Try it: Cancel an order' }).focus();
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.hasAttribute('data-key'))).toBe(true);
    await page.keyboard.type('a-key');
    await page.keyboard.press('Tab'); // where keys come from
    await page.keyboard.press('Tab');
    await page.keyboard.type('7');
    const request = page.waitForRequest('**/v1/store/orders/7');
    await page.keyboard.press('Enter');
    expect((await request).method()).toBe('DELETE');
  });

  test('the focus stays where it is when an operation is sent', async () => {
    await using reader = await visit('/docs#listOrders');
    const { page } = reader;
    const form = page.getByRole('form', { name: 'Try it: List all orders' });
    await page.getByRole('button', { name: 'Try it: List all orders' }).click();
    const send = form.getByRole('button', { name: 'Send GET' });
    await send.focus();
    await page.keyboard.press('Enter');
    await form.getByText(/^404 /).waitFor(); // the site has no API
    expect(await send.evaluate((button) => button === document.activeElement)).toBe(true);
  });
});

test.each([
  ['/docs', PHONE],
  ['/docs/limits', PHONE],
  ['/docs', {}],
  ['/docs/errors', {}],
] as const)('on %s whatever is pressed, links in sentences aside, is 24 px high and wide', async (path, options) => {
  await using reader = await visit(path, options);
  const { page } = reader;
  for (const button of await page.getByRole('button', { name: /^Try it/ }).all()) await button.click();
  const small = await page
    .locator('button, summary, select, input, nav a, .codes a, .cards a, .anchor')
    .evaluateAll((all) =>
      all
        .filter((one) => one.checkVisibility({ opacityProperty: true }))
        .map((one) => ({ name: one.outerHTML.slice(0, 80), ...one.getBoundingClientRect().toJSON() }))
        .filter(({ width, height }) => width < 24 || height < 24),
    );
  expect(small).toEqual([]);
});

test('codes that are links have no line below that would hide their underscores', async () => {
  await using reader = await visit('/docs/errors');
  const lines = await reader.page
    .locator('main a:has(> code)')
    .evaluateAll((links) => links.map((link) => getComputedStyle(link).textDecorationLine));
  expect(lines.length).toBeGreaterThan(20);
  expect(new Set(lines)).toEqual(new Set(['none']));
});

test.each([
  ['/docs', 'dark as the system is'],
  ['/docs/limits', 'dark as the system is'],
  ['/docs/limits', 'dark by choice'],
])('%s, %s, is printed black on white, as text alone, with whole lines', async (path, darkness) => {
  const isChosen = darkness === 'dark by choice';
  await using reader = await visit(path, { colorScheme: isChosen ? 'light' : 'dark' });
  const { page } = reader;
  if (isChosen) await page.getByRole('button', { name: 'Dark mode' }).click();
  await page.emulateMedia({ media: 'print' });
  const colours = await page.evaluate(() => {
    const { backgroundColor, color } = getComputedStyle(document.body);
    return [
      backgroundColor,
      color,
      ...Array.from(
        document.querySelectorAll('main :is(h1, h2, h3, p, td, li)'),
        (text) => getComputedStyle(text).color,
      ),
    ];
  });
  expect(new Set(colours)).toEqual(new Set(['rgb(255, 255, 255)', 'rgb(0, 0, 0)']));
  expect(
    await page.locator('.site-header, aside, button').evaluateAll((all) => all.filter((one) => one.checkVisibility())),
  ).toEqual([]);
  const cut = await page
    .locator('main pre')
    .evaluateAll((blocks) =>
      blocks.filter((pre) => pre.scrollWidth > pre.clientWidth || pre.scrollHeight > pre.clientHeight),
    );
  expect(cut).toEqual([]);
});
