use berth_discover::*; use berth_placement::SocketKind;
fn main(){ for a in std::env::args().skip(1) {
 let t=std::time::Instant::now();
 match Source::parse(&a).and_then(|s|discover(&s)) {
  Err(e)=>println!("{a}: ERR {e}"),
  Ok(d)=>{ let m=&d.machine;
   println!("{a}: cores {} cpus {} allowed {} {:?} this={} src={} [{:?}]",m.core_count(),m.cpus(),m.allowed(),d.sockets,d.this_system,d.source,t.elapsed());
   let s=m.topology_string(SocketKind::Package); println!("   {} (len {})", &s[..s.len().min(100)], s.len());
   println!("   numa {:?}", m.parts().numa_nodes.iter().map(|n|format!("{}:{}",n.id,n.cpus)).collect::<Vec<_>>());
   println!("   kinds pkg {} numa {} l3 {}; l3 {:?}", m.sockets(SocketKind::Package).len(), m.sockets(SocketKind::Numa).len(), m.sockets(SocketKind::L3).len(), m.parts().l3_caches.len());
   if std::env::var("ORDER").is_ok() { let v:Vec<String>=(0..m.core_count()).flat_map(|c|m.pus_of(berth_placement::ids::CoreIdx(c as u32)).iter().map(|p|p.to_string()).collect::<Vec<_>>()).collect(); println!("ORDER {}", v.join(" ")); }
 }}}}
