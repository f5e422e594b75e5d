/** @import { ExternalDocs, GuideSummary, OpenApiDocument, Operation, Response, Server } from './open-api.d.ts' */
import { codeSamples } from './code-samples.js';

/**
 * Addresses, relative to the page.
 *
 * @typedef {object} Site
 * @property {string} baseUrl absolute, ends in the version segment
 * @property {string} documentUrl
 * @property {string} errorsUrl below which each error code has a page
 * @property {readonly GuideSummary[]} guides
 */

/**
 * Adapts the OpenAPI document to this page: requests go to the page's own server, each operation has code samples, error
 * codes link to their pages, and the introduction links to the guides.
 *
 * @param {OpenApiDocument} document
 * @param {Site} site
 * @returns {OpenApiDocument}
 */
export function prepareDocument(document, site) {
  const description = [
    document.info.description,
    ...describeOtherServers(document.servers, site.baseUrl),
    `The document behind this page: [openapi.json](${site.documentUrl}).`,
    ...site.guides.map(
      ({ title, summary, href }) =>
        `## ${title}\n\n${summary} [More on ${title.charAt(0).toLowerCase()}${title.slice(1)}](${href})`,
    ),
  ];
  // The document's own `externalDocs` refers to these pages.
  const { externalDocs: _, ...shown } = document;
  return {
    ...shown,
    info: { ...document.info, description: description.filter(Boolean).join('\n\n') },
    // The page's policy (`connect-src 'self'`) allows no other host, so that a key cannot be sent elsewhere.
    servers: [{ url: site.baseUrl }],
    paths: mapEntries(document.paths, (path, methods) =>
      mapEntries(methods, (method, operation) => ({
        ...operation,
        ...(operation.externalDocs && { externalDocs: besidePage(operation.externalDocs, site.errorsUrl) }),
        ...(operation['x-badges'] && { 'x-badges': badgesBeside(operation) }),
        responses: mapEntries(operation.responses, (_, response) => linkErrorCodes(response, site.errorsUrl)),
        'x-codeSamples': codeSamples(
          { method: method.toUpperCase(), url: exampleUrl(`${site.baseUrl}${path}`, operation) },
          operation,
        ),
      })),
    ),
    components: {
      ...document.components,
      responses: mapEntries(document.components.responses, (_, response) => linkErrorCodes(response, site.errorsUrl)),
      securitySchemes: mapEntries(document.components.securitySchemes, (_, scheme) => ({
        ...scheme,
        description: `${scheme.description ?? ''} Kept in this page's memory only.`,
      })),
    },
  };
}

/** @param {readonly Server[]} servers @param {string} baseUrl */
function describeOtherServers(servers, baseUrl) {
  const others = servers.filter(({ url }) => new URL(url, baseUrl).href !== baseUrl);
  return others.map(({ url, description = 'Also at' }) => `${description}: \`${url}\``);
}

/**
 * Links to the guide on this server, in place of the document's.
 *
 * @param {ExternalDocs} externalDocs
 * @param {string} errorsUrl
 */
function besidePage({ url, ...others }, errorsUrl) {
  return { ...others, url: url.replace(/^.*\/docs\//, errorsUrl.replace(/errors$/, '')) };
}

/** @param {Response} response @param {string} errorsUrl @returns {Response} */
function linkErrorCodes(response, errorsUrl) {
  const codes = Object.values(response.content ?? {}).flatMap(({ schema, examples = {} }) =>
    schema?.$ref?.endsWith('/Error') ? Object.keys(examples) : [],
  );
  if (codes.length === 0) return response;
  const links = codes.map((code) => `[\`${code}\`](${errorsUrl}/${code})`);
  return { ...response, description: `${response.description} ${links.join(', ')}` };
}

/**
 * The badges, for other tools, without the stability, which this page shows by itself.
 *
 * @param {Operation} operation
 */
function badgesBeside({ 'x-badges': badges = [], 'x-scalar-stability': stability }) {
  return badges.filter(({ name }) => name.toLowerCase() !== stability);
}

/** The query parameters in samples: enough to show how filters and pages work. */
const SAMPLE_QUERY = ['status', 'limit'];

/** @param {string} template @param {Operation} operation */
function exampleUrl(template, { parameters = [] }) {
  let url = template;
  const query = new URLSearchParams();
  for (const { name, in: place, example = 1 } of parameters) {
    if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(String(example)));
    else if (place === 'query' && SAMPLE_QUERY.includes(name)) {
      for (const value of [example].flat()) query.append(name, String(value));
    }
  }
  return query.size === 0 ? url : `${url}?${query}`;
}

/**
 * @template Value, Result
 * @param {Record<string, Value>} record
 * @param {(key: string, value: Value) => Result} map
 * @returns {Record<string, Result>}
 */
function mapEntries(record, map) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(key, value)]));
}
