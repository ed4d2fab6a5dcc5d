// For tests only. The Elasticsearch that Maven Central serves (integ-test-zip) lacks the modules rest-root (GET /, which clients ask
// first) and analysis-common (all language analysers, and the filters and the tokenizer that its own security index asks for). This
// plugin adds them from Lucene's jars, which lie in the server's lib folder; nori comes from lucene-analysis-nori beside it.
package kgtest;

import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.ar.ArabicAnalyzer;
import org.apache.lucene.analysis.bn.BengaliAnalyzer;
import org.apache.lucene.analysis.ca.CatalanAnalyzer;
import org.apache.lucene.analysis.cjk.CJKAnalyzer;
import org.apache.lucene.analysis.core.LowerCaseFilter;
import org.apache.lucene.analysis.cz.CzechAnalyzer;
import org.apache.lucene.analysis.da.DanishAnalyzer;
import org.apache.lucene.analysis.de.GermanAnalyzer;
import org.apache.lucene.analysis.el.GreekAnalyzer;
import org.apache.lucene.analysis.email.UAX29URLEmailTokenizer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.es.SpanishAnalyzer;
import org.apache.lucene.analysis.et.EstonianAnalyzer;
import org.apache.lucene.analysis.eu.BasqueAnalyzer;
import org.apache.lucene.analysis.fa.PersianAnalyzer;
import org.apache.lucene.analysis.fi.FinnishAnalyzer;
import org.apache.lucene.analysis.fr.FrenchAnalyzer;
import org.apache.lucene.analysis.ga.IrishAnalyzer;
import org.apache.lucene.analysis.gl.GalicianAnalyzer;
import org.apache.lucene.analysis.hi.HindiAnalyzer;
import org.apache.lucene.analysis.hu.HungarianAnalyzer;
import org.apache.lucene.analysis.hy.ArmenianAnalyzer;
import org.apache.lucene.analysis.id.IndonesianAnalyzer;
import org.apache.lucene.analysis.it.ItalianAnalyzer;
import org.apache.lucene.analysis.ko.KoreanAnalyzer;
import org.apache.lucene.analysis.lt.LithuanianAnalyzer;
import org.apache.lucene.analysis.lv.LatvianAnalyzer;
import org.apache.lucene.analysis.miscellaneous.RemoveDuplicatesTokenFilter;
import org.apache.lucene.analysis.nl.DutchAnalyzer;
import org.apache.lucene.analysis.no.NorwegianAnalyzer;
import org.apache.lucene.analysis.pattern.PatternCaptureGroupTokenFilter;
import org.apache.lucene.analysis.pt.PortugueseAnalyzer;
import org.apache.lucene.analysis.ro.RomanianAnalyzer;
import org.apache.lucene.analysis.ru.RussianAnalyzer;
import org.apache.lucene.analysis.sv.SwedishAnalyzer;
import org.apache.lucene.analysis.th.ThaiAnalyzer;
import org.apache.lucene.analysis.tr.TurkishAnalyzer;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.metadata.IndexNameExpressionResolver;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.io.stream.NamedWriteableRegistry;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.IndexScopedSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.settings.SettingsFilter;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.index.analysis.AbstractIndexAnalyzerProvider;
import org.elasticsearch.index.analysis.AbstractTokenFilterFactory;
import org.elasticsearch.index.analysis.AnalyzerProvider;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.index.analysis.TokenizerFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

public class AnalysersAndRoot extends Plugin implements AnalysisPlugin, ActionPlugin {
  private static final Map<String, Function<CharArraySet, Analyzer>> BY_LANGUAGE = new HashMap<>();

  static {
    BY_LANGUAGE.put("arabic", ArabicAnalyzer::new);
    BY_LANGUAGE.put("armenian", ArmenianAnalyzer::new);
    BY_LANGUAGE.put("basque", BasqueAnalyzer::new);
    BY_LANGUAGE.put("bengali", BengaliAnalyzer::new);
    BY_LANGUAGE.put("catalan", CatalanAnalyzer::new);
    BY_LANGUAGE.put("cjk", CJKAnalyzer::new);
    BY_LANGUAGE.put("czech", CzechAnalyzer::new);
    BY_LANGUAGE.put("danish", DanishAnalyzer::new);
    BY_LANGUAGE.put("dutch", DutchAnalyzer::new);
    BY_LANGUAGE.put("english", EnglishAnalyzer::new);
    BY_LANGUAGE.put("estonian", EstonianAnalyzer::new);
    BY_LANGUAGE.put("finnish", FinnishAnalyzer::new);
    BY_LANGUAGE.put("french", FrenchAnalyzer::new);
    BY_LANGUAGE.put("galician", GalicianAnalyzer::new);
    BY_LANGUAGE.put("german", GermanAnalyzer::new);
    BY_LANGUAGE.put("greek", GreekAnalyzer::new);
    BY_LANGUAGE.put("hindi", HindiAnalyzer::new);
    BY_LANGUAGE.put("hungarian", HungarianAnalyzer::new);
    BY_LANGUAGE.put("indonesian", IndonesianAnalyzer::new);
    BY_LANGUAGE.put("irish", IrishAnalyzer::new);
    BY_LANGUAGE.put("italian", ItalianAnalyzer::new);
    BY_LANGUAGE.put("latvian", LatvianAnalyzer::new);
    BY_LANGUAGE.put("lithuanian", LithuanianAnalyzer::new);
    BY_LANGUAGE.put("norwegian", NorwegianAnalyzer::new);
    BY_LANGUAGE.put("persian", PersianAnalyzer::new);
    BY_LANGUAGE.put("portuguese", PortugueseAnalyzer::new);
    BY_LANGUAGE.put("romanian", RomanianAnalyzer::new);
    BY_LANGUAGE.put("russian", RussianAnalyzer::new);
    BY_LANGUAGE.put("spanish", SpanishAnalyzer::new);
    BY_LANGUAGE.put("swedish", SwedishAnalyzer::new);
    BY_LANGUAGE.put("thai", ThaiAnalyzer::new);
    BY_LANGUAGE.put("turkish", TurkishAnalyzer::new);
    BY_LANGUAGE.put("nori", words -> new KoreanAnalyzer());
  }

  private static AnalysisProvider<AnalyzerProvider<? extends Analyzer>> analyser(Function<CharArraySet, Analyzer> make) {
    return (index, env, name, settings) -> new AbstractIndexAnalyzerProvider<Analyzer>(NAME) {
      private final Analyzer analyser = make.apply("_none_".equals(settings.get("stopwords"))
          ? CharArraySet.EMPTY_SET : EnglishAnalyzer.getDefaultStopSet());
      @Override public Analyzer get() { return analyser; }
    };
  }

  @Override public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
    Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> all = new HashMap<>();
    BY_LANGUAGE.forEach((name, make) -> all.put(name, analyser(make)));
    return all;
  }

  private interface Wrap { TokenStream of(TokenStream input); }

  private static TokenFilterFactory filter(String name, Settings settings, Wrap wrap) {
    return new AbstractTokenFilterFactory(NAME) {
      @Override public TokenStream create(TokenStream input) { return wrap.of(input); }
    };
  }

  @Override public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
    return Map.of(
        "lowercase", (index, env, name, settings) -> filter(name, settings, LowerCaseFilter::new),
        "unique", (index, env, name, settings) -> filter(name, settings, RemoveDuplicatesTokenFilter::new),
        "pattern_capture", (index, env, name, settings) -> {
          Pattern[] patterns = settings.getAsList("patterns").stream().map(Pattern::compile).toArray(Pattern[]::new);
          boolean keep = settings.getAsBoolean("preserve_original", true);
          return filter(name, settings, input -> new PatternCaptureGroupTokenFilter(input, keep, patterns));
        });
  }

  @Override public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
    return Map.of("uax_url_email", (index, env, name, settings) -> TokenizerFactory.newFactory(name, UAX29URLEmailTokenizer::new));
  }

  @Override public Collection<RestHandler> getRestHandlers(Settings settings, NamedWriteableRegistry registry, RestController rest,
      ClusterSettings cluster, IndexScopedSettings scoped, SettingsFilter filter, IndexNameExpressionResolver names,
      Supplier<DiscoveryNodes> nodes, Predicate<NodeFeature> features) {
    return List.of(new BaseRestHandler() {
      @Override public String getName() { return "root"; }
      @Override public List<Route> routes() {
        return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
      }
      @Override protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) throws IOException {
        return channel -> {
          XContentBuilder body = channel.newBuilder().startObject().field("cluster_name", "test").startObject("version")
              .field("number", Build.current().version()).field("build_flavor", "default").endObject()
              .field("tagline", "You Know, for Search").endObject();
          channel.sendResponse(new RestResponse(RestStatus.OK, body));
        };
      }
    });
  }
}
