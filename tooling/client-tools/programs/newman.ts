import newman from 'newman';
import converter from 'openapi-to-postmanv2';

interface Settings {
  readonly documentUrl: string;
  readonly apiKey: string;
}

/** A script of Postman, run behind the request; `read` makes orders of the text of the response. */
const SCRIPTS = {
  asItComes: 'pm.response.json()',
  exact: `JSON.parse(pm.response.text().replace(/"(id|petId)":(-?\\d+)/g, '"$1":"$2"'))`,
};

export function createCallers({ documentUrl, apiKey }: Settings) {
  const create = (script: string) => {
    const collection = convert(documentUrl);
    const run = async (names: readonly string[], path: object = {}) => {
      const items = await collection;
      const item = items.item.find(({ name }) => names.includes(name));
      for (const variable of item.request.url.variable) variable.value = path[variable.key] ?? variable.value;
      for (const query of item.request.url.query)
        Object.assign(query, { disabled: query.key !== 'limit', value: '1000' });
      const test = { listen: 'test', script: { exec: [`pm.environment.set('read', JSON.stringify(${script}))`] } };
      const summary = await runCollection({ ...items, item: [{ ...item, event: [test] }] }, apiKey);
      const [{ response }] = summary.run.executions;
      const read = summary.environment.values.find(({ key }) => key === 'read')?.value;
      return { response, read };
    };
    return {
      async list() {
        const { response, read } = await run(['List all orders', 'List orders, page by page']);
        return { orders: JSON.parse(read), remaining: response.headers.get('X-RateLimit-Remaining') };
      },
      async cancel(orderId: unknown) {
        const { response } = await run(['Cancel an order'], { orderId: String(orderId) });
        return { status: response.code, code: response.code === 204 ? undefined : response.json().code };
      },
    };
  };
  return { v1: create(SCRIPTS.asItComes), v1Exact: create(SCRIPTS.exact), v2: create(SCRIPTS.asItComes) };
}

async function convert(documentUrl: string) {
  const data = await (await fetch(documentUrl)).text();
  const options = { parametersResolution: 'Example' };
  const { result, reason, output } = await new Promise((resolve, reject) =>
    converter.convertV2({ type: 'string', data }, options, (error, converted) =>
      error ? reject(error) : resolve(converted),
    ),
  );
  if (!result) throw new Error(reason);
  const { data: collection } = output[0];
  return { ...collection, item: collection.item.flatMap(requestsOf) };
}

const requestsOf = (item) => (item.item === undefined ? [item] : item.item.flatMap(requestsOf));

const runCollection = (collection, apiKey) =>
  new Promise((resolve, reject) => {
    const environment = { values: [{ key: 'bearerToken', value: apiKey }] };
    newman.run({ collection, environment, reporters: [] }, (error, summary) =>
      error ? reject(error) : resolve(summary),
    );
  });
