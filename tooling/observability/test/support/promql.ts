import { parser } from '@prometheus-io/lezer-promql';

/** What a selector of series asks for, as in `http_requests_total{code="500"}`. */
interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface Matcher {
  readonly label: string;
  readonly operator: '=' | '!=' | '=~' | '!~';
  readonly value: string;
}

export interface ParsedQuery {
  readonly selectors: readonly Selector[];
  /** By which series are grouped or joined. */
  readonly groupedBy: readonly string[];
}

/**
 * Reads a query with the grammar of Prometheus' own editor. Grafana's variables are taken for values.
 *
 * @throws Error where it is no query
 */
export function parseQuery(query: string): ParsedQuery {
  const text = query.replaceAll(/\$__(?:rate_)?interval/g, '5m');
  const selectors: { metric: string; matchers: Matcher[] }[] = [];
  const groupedBy: string[] = [];
  const textOf = ({ from, to }: { readonly from: number; readonly to: number }) => text.slice(from, to);
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`This is no query at ${node.from}: ${text}`);
      if (node.name === 'VectorSelector') selectors.push({ metric: '', matchers: [] });
      const selector = selectors.at(-1);
      if (node.name === 'Identifier' && selector !== undefined) selector.metric = textOf(node);
      if (node.name === 'UnquotedLabelMatcher') {
        const [, label = '', operator = '=', value = ''] = /^(\w+)\s*(=~|!~|!=|=)\s*"(.*)"$/s.exec(textOf(node)) ?? [];
        selector?.matchers.push({ label, operator: operator as Matcher['operator'], value }); // one of these
      }
      if (node.name === 'GroupingLabels') groupedBy.push(...(textOf(node).match(/\w+/g) ?? []));
    },
  });
  return { selectors, groupedBy };
}
